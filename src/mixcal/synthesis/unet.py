"""diffusers' UNet2DModel (its extra: `csm`) conditioned on a distribution over classes.

`patch = 2` hands the network every 2 × 2 block of pixels as channels of one: a quarter of the
positions at full width, which is what makes small images trainable on a laptop. Ours; patch = 1
leaves the image as it is.
"""

from typing import Any

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from mixcal.core.errors import BadInput
from mixcal.synthesis.options import NetworkOptions
from mixcal.synthesis.soft_embedding import SoftEmbedding

GROUPS = 8
# Channels of an attention head, at most.
HEAD = 64


class UNet(nn.Module):
    """Noisy images, c_noise and class distributions to F."""

    def __init__(
        self, options: NetworkOptions, *, classes: int, channels: int, size: tuple[int, int]
    ) -> None:
        super().__init__()
        _check(options, size)
        self.patch = options.patch
        inner = channels * options.patch**2
        widths = tuple(options.width * factor for factor in options.multipliers)
        sizes = [size[0] // options.patch >> level for level in range(len(widths))]
        attend = [side in options.attention for side in sizes]
        head = min(HEAD, widths[-1])
        for width in (width for width, here in zip(widths, attend, strict=True) if here):
            if width < head:
                raise BadInput(
                    f"method.network cannot be built: positions {width} channels wide look at each "
                    f"other by heads of {head}; attend where there are more, or change width."
                )
        self.unet = _model_class()(
            sample_size=sizes[0],
            in_channels=inner,
            out_channels=inner,
            block_out_channels=widths,
            layers_per_block=options.blocks,
            down_block_types=tuple(_block(here, "Down") for here in attend),
            up_block_types=tuple(_block(here, "Up") for here in reversed(attend)),
            norm_num_groups=GROUPS,
            attention_head_dim=head,
            dropout=options.dropout,
            num_class_embeds=classes,
        )
        self.unet.class_embedding = SoftEmbedding(classes, 4 * widths[0])
        # Begins as D = c_skip x, the best answer of a network that knows nothing.
        nn.init.zeros_(self.unet.conv_out.weight)
        nn.init.zeros_(self.unet.conv_out.bias)

    def forward(
        self,
        inputs: Float[Tensor, "n c h w"],
        noise: Float[Tensor, " n"],
        targets: Float[Tensor, "n k"],
    ) -> Float[Tensor, "n c h w"]:
        if self.patch == 1:
            return self.unet(inputs, noise, targets, return_dict=False)[0]
        blocks = F.pixel_unshuffle(inputs, self.patch)
        raw = self.unet(blocks, noise, targets, return_dict=False)[0]
        return F.pixel_shuffle(raw, self.patch)


def _block(attends: bool, way: str) -> str:
    return f"Attn{way}Block2D" if attends else f"{way}Block2D"


def _check(options: NetworkOptions, size: tuple[int, int]) -> None:
    halvings = options.patch << (len(options.multipliers) - 1)
    if size[0] % halvings or size[1] % halvings:
        raise BadInput(
            f"Images of {size[0]} × {size[1]} cannot be halved as often as method.network wants: "
            f"patch {options.patch} and {len(options.multipliers)} levels need multiples of "
            f"{halvings}; take fewer levels or another patch."
        )
    if options.width % GROUPS:
        raise BadInput(f"method.network.width is {options.width}; take a multiple of {GROUPS}.")


def _model_class() -> Any:
    try:
        from diffusers import UNet2DModel
    except ImportError as error:
        raise BadInput(
            f'The network "unet" needs the package diffusers ({error}); install mixcal[csm].'
        ) from None
    return UNet2DModel
