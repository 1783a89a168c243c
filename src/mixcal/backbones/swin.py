"""Swin Transformer V2 (Liu et al., CVPR 2022; arXiv:2111.09883v2), by transformers.

As in the paper; the defaults are its SwinV2-T. The blocks are transformers' own, from a fresh
configuration, and take that library's files by name. A group is a stage of the paper with the patch
merging that ends it.
"""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from mixcal.backbones.between import answered, entered, reached
from mixcal.backbones.weights import with_weights
from mixcal.core.activations import Activations, Between
from mixcal.core.errors import BadInput
from mixcal.core.quantities import Count, ShareBelowOne

TRANSFORMERS_NAMES = ((r"^swinv2\.", "body."), (r"^classifier\.", "head."))


class SwinV2(nn.Module):
    """Patches, stages of shifted-window attention, layer norm, average over patches, linear."""

    # A Swinv2Model; transformers is imported only when one is made.
    body: Any

    def __init__(self, body: nn.Module, classes: int, *, stages: int, width: int) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(width, classes)
        nn.init.trunc_normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)
        self.stages = ("input", *(f"group{place + 1}" for place in range(stages)))
        self.feature_width = width

    def forward(self, inputs: Tensor, between: Between | None = None) -> Activations:
        hidden, grid = self.body.embeddings(entered(between, self.stages, inputs))
        for stage, layer in zip(self.stages[1:], self.body.encoder.layers, strict=True):
            # The last two numbers are the size of the grid of patches that comes out.
            hidden, _, (*_, height, width) = layer(hidden, grid)
            grid = (height, width)
            hidden = reached(between, stage, hidden)
        return answered(self.head, self.body.layernorm(hidden).mean(1))


def swin_v2(
    classes: int,
    *,
    channels: int = 3,
    size: int = 256,
    patch: Count = 4,
    width: Count = 96,
    depths: tuple[Count, ...] = (2, 2, 6, 2),
    heads: tuple[Count, ...] = (3, 6, 12, 24),
    window: Count = 8,
    dropout: ShareBelowOne = 0.0,
    attention_dropout: ShareBelowOne = 0.0,
    path_dropout: ShareBelowOne = 0.2,
    weights: str = "",
) -> SwinV2:
    """SwinV2 with these widths and depths; `path_dropout` grows to this value with depth."""
    _check(size, patch, width, depths, heads)
    try:
        from transformers import Swinv2Config, Swinv2Model
    except ImportError as error:
        raise BadInput(
            f"swin-v2 needs transformers, which cannot be imported here ({error}); "
            "install it with pip install 'mixcal[csm]'."
        ) from None
    configuration = Swinv2Config(
        image_size=size,
        patch_size=patch,
        num_channels=channels,
        embed_dim=width,
        depths=list(depths),
        num_heads=list(heads),
        window_size=window,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=attention_dropout,
        drop_path_rate=path_dropout,
    )
    body = Swinv2Model(configuration, add_pooling_layer=False)
    last = width * 2 ** (len(depths) - 1)
    network = SwinV2(body, classes, stages=len(depths), width=last)
    return with_weights(network, weights, TRANSFORMERS_NAMES)


def _check(size: int, patch: int, width: int, depths: Sequence[int], heads: Sequence[int]) -> None:
    widths = [width * 2**place for place in range(len(depths))]
    if len(heads) != len(depths) or any(w % h for w, h in zip(widths, heads, strict=True)):
        raise BadInput(
            f"swin-v2: heads are {list(heads)}; stages of widths {widths} need as many numbers, "
            "each a divisor of its width."
        )
    smallest = patch * 2 ** (len(depths) - 1)
    if size < smallest:
        raise BadInput(
            f"swin-v2 with patch {patch} and {len(depths)} stages needs {smallest} pixels, "
            f"not {size}; take a smaller patch or fewer stages."
        )
