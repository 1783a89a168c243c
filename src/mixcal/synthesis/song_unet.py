"""DDPM++ and NCSN++ as EDM trained them; their published weights load into these.

Song et al., ICLR 2021 (arXiv:2011.13456v2), in the configurations of Karras et al., NeurIPS 2022
(arXiv:2206.00364v2, Table 7): "vp" is `ddpm++`, with averages of 2 × 2 pixels between sizes;
"ve" is `ncsn++`, with random Fourier features, the filter [1, 3, 3, 1] and the image itself, ever
smaller, added to the encoder. Attention is in every encoder block of the sides named, in the last
decoder block of each, and in the first block of the middle. As in the papers. With `classes` the
network is conditional on distributions over classes.
"""

from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from mixcal.core.errors import BadInput
from mixcal.synthesis.options import NetworkOptions
from mixcal.synthesis.song_blocks import (
    FEWEST,
    HALF_POWER,
    LAST,
    Block,
    Pyramid,
    convolution,
    normalization,
)
from mixcal.synthesis.song_embedding import Embedding

BOX, SMOOTH = (1, 1), (1, 3, 3, 1)


class SongUNet(nn.Module):
    """Noisy images, c_noise, class distributions and augmentations to F."""

    def __init__(
        self, options: NetworkOptions, *, classes: int, channels: int, size: tuple[int, int]
    ) -> None:
        super().__init__()
        _check(options, size)
        second_way = options.name == "ncsn++"
        taps = SMOOTH if second_way else BOX
        block = partial(Block, embedding=4 * options.width, dropout=options.dropout, taps=taps)
        self.embedding = Embedding(
            options.width,
            classes=classes,
            fourier=second_way,
            augmentation=options.told_augmentation,
        )
        self.entry = convolution(channels, options.width, 3)
        self.encoder, self.decoder = nn.ModuleList(), nn.ModuleList()
        outer, kept, aside = options.width, [options.width], channels
        for level, factor in enumerate(options.multipliers):
            attends = size[0] >> level in options.attention
            resample, pyramid, blocks = None, None, nn.ModuleList()
            if level:
                resample = block(outer, outer, way="down")
                pyramid = Pyramid(aside, outer, taps) if second_way else None
                aside = outer
                kept.append(outer)
            for _ in range(options.blocks):
                blocks.append(block(outer, options.width * factor, attends=attends))
                outer = options.width * factor
                kept.append(outer)
            self.encoder.append(Down(resample, pyramid, blocks))
        self.middle = nn.ModuleList([block(outer, outer, attends=True), block(outer, outer)])
        for level, factor in reversed(tuple(enumerate(options.multipliers))):
            attends = size[0] >> level in options.attention
            deepest = level == len(options.multipliers) - 1
            resample = None if deepest else block(outer, outer, way="up")
            blocks = nn.ModuleList()
            for place in range(options.blocks + 1):
                inner, outer = outer + kept.pop(), options.width * factor
                blocks.append(block(inner, outer, attends=attends and place == options.blocks))
            self.decoder.append(Up(resample, blocks))
        self.norm = normalization(outer)
        self.exit = convolution(outer, channels, 3, gain=LAST)

    def forward(
        self,
        inputs: Float[Tensor, "n c h w"],
        noise: Float[Tensor, " n"],
        targets: Float[Tensor, "n k"],
        augmentation: Float[Tensor, "n 9"] | None = None,
    ) -> Float[Tensor, "n c h w"]:
        embedded = self.embedding(noise, targets, augmentation)
        kept, aside = [self.entry(inputs)], inputs
        for level in self.encoder:
            made, aside = level(kept[-1], aside, embedded)
            kept += made
        hidden = kept[-1]
        for block in self.middle:
            hidden = block(hidden, embedded)
        for level in self.decoder:
            hidden = level(hidden, kept, embedded)
        return self.exit(F.silu(self.norm(hidden)))


class Down(nn.Module):
    """One size of the encoder."""

    def __init__(
        self, resample: Block | None, pyramid: Pyramid | None, blocks: nn.ModuleList
    ) -> None:
        super().__init__()
        self.resample = resample
        self.pyramid = pyramid
        self.blocks = blocks

    def forward(
        self, hidden: Tensor, aside: Tensor, embedded: Float[Tensor, "n e"]
    ) -> tuple[list[Tensor], Tensor]:
        """Everything the decoder will see again, and what goes down beside it."""
        made = []
        if self.resample is not None:
            hidden = self.resample(hidden, embedded)
            if self.pyramid is not None:
                hidden = aside = HALF_POWER * (hidden + self.pyramid(aside))
            made.append(hidden)
        for block in self.blocks:
            hidden = block(hidden, embedded)
            made.append(hidden)
        return made, aside


class Up(nn.Module):
    """One size of the decoder."""

    def __init__(self, resample: Block | None, blocks: nn.ModuleList) -> None:
        super().__init__()
        self.resample = resample
        self.blocks = blocks

    def forward(self, hidden: Tensor, kept: list[Tensor], embedded: Float[Tensor, "n e"]) -> Tensor:
        """Takes what it uses off the end of `kept`."""
        if self.resample is not None:
            hidden = self.resample(hidden, embedded)
        for block in self.blocks:
            hidden = block(torch.cat([hidden, kept.pop()], dim=1), embedded)
        return hidden


def _check(options: NetworkOptions, size: tuple[int, int]) -> None:
    if options.patch != 1:
        raise BadInput(
            f'method.network.patch is {options.patch}; "{options.name}" sees single pixels, so set '
            "patch = 1."
        )
    if options.width % FEWEST or (options.width > 32 * FEWEST and options.width % 32):
        raise BadInput(
            f"method.network.width is {options.width}; take a multiple of {FEWEST}, "
            f"above {32 * FEWEST} of 32."
        )
    multiple = 1 << (len(options.multipliers) - 1)
    if size[0] % multiple or size[1] % multiple:
        raise BadInput(
            f"Images of {size[0]} × {size[1]} cannot be halved as often as method.network wants: "
            f"{len(options.multipliers)} levels need multiples of {multiple}; take fewer levels."
        )
