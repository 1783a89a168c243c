"""Parts of DDPM++ and NCSN++ (Song et al., ICLR 2021; arXiv:2011.13456v2, appendix H).

In the measures of EDM's networks (Karras et al., NeurIPS 2022; arXiv:2206.00364v2, appendix F.1),
so that their published weights fit: sums of two branches are scaled by √½, normalization is over
groups of 4 channels and more, attention has a single head, the noise level is added.
"""

import math
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

HALF_POWER = math.sqrt(0.5)
# Gains of the initial weights: of a branch's last layer, and of queries, keys and values.
LAST, ATTENDING = 1e-5, math.sqrt(0.2)
GROUPS, FEWEST, EPSILON = 32, 4, 1e-6

Way = Literal["up", "down"]


def normalization(channels: int) -> nn.GroupNorm:
    """At most 32 groups, of 4 channels or more."""
    return nn.GroupNorm(min(GROUPS, channels // FEWEST), channels, eps=EPSILON)


def convolution(inner: int, outer: int, kernel: int, *, gain: float = 1.0) -> nn.Conv2d:
    """Keeps the size; Xavier-uniform weights, no bias at first."""
    layer = nn.Conv2d(inner, outer, kernel, padding=kernel // 2)
    nn.init.xavier_uniform_(layer.weight, gain)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer


def linear(inner: int, outer: int, *, bias: bool = True) -> nn.Linear:
    """Xavier-uniform weights, no bias at first."""
    layer = nn.Linear(inner, outer, bias=bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


class Resampling(nn.Module):
    """Twice or half the size by a filter of the given taps along either axis."""

    kernel: Tensor

    def __init__(self, way: Way, taps: tuple[int, ...]) -> None:
        super().__init__()
        self.way = way
        self.padding = (len(taps) - 1) // 2
        row = torch.tensor(taps, dtype=torch.float32)
        row = row / row.sum() * (2 if way == "up" else 1)
        self.register_buffer("kernel", torch.outer(row, row)[None, None], persistent=False)

    def forward(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c i j"]:
        channels = images.shape[1]
        resample = F.conv_transpose2d if self.way == "up" else F.conv2d
        kernel = self.kernel.expand(channels, -1, -1, -1)
        return resample(images, kernel, stride=2, padding=self.padding, groups=channels)


class Attention(nn.Module):
    """Every position looks at every other. Query, key and value of a channel stand together."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = normalization(channels)
        self.project = convolution(channels, 3 * channels, 1, gain=ATTENDING)
        self.out = convolution(channels, channels, 1, gain=LAST)

    def forward(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        n, c, h, w = images.shape
        together = self.project(self.norm(images)).reshape(n, c, 3, h * w)
        query, key, value = together.permute(2, 0, 3, 1)[:, :, None].contiguous().unbind(0)
        seen = F.scaled_dot_product_attention(query, key, value)[:, 0]
        return HALF_POWER * (images + self.out(seen.transpose(1, 2).reshape(n, c, h, w)))


class Block(nn.Module):
    """Two convolutions beside a short cut; the embedding is added between them."""

    def __init__(
        self,
        inner: int,
        outer: int,
        *,
        embedding: int,
        dropout: float,
        taps: tuple[int, ...],
        way: Way | None = None,
        attends: bool = False,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.resampling = None if way is None else Resampling(way, taps)
        self.norm_1 = normalization(inner)
        self.convolution_1 = convolution(inner, outer, 3)
        self.embed = linear(embedding, outer)
        self.norm_2 = normalization(outer)
        self.convolution_2 = convolution(outer, outer, 3, gain=LAST)
        changes = inner != outer or way is not None
        self.shortcut = convolution(inner, outer, 1) if changes else None
        self.attention = Attention(outer) if attends else None

    def forward(
        self, images: Float[Tensor, "n c h w"], embedded: Float[Tensor, "n e"]
    ) -> Float[Tensor, "n d i j"]:
        hidden = F.silu(self.norm_1(images))
        if self.resampling is not None:
            hidden, images = self.resampling(hidden), self.resampling(images)
        hidden = self.convolution_1(hidden) + self.embed(embedded)[:, :, None, None]
        hidden = F.dropout(F.silu(self.norm_2(hidden)), self.dropout, self.training)
        short = images if self.shortcut is None else self.shortcut(images)
        both = HALF_POWER * (self.convolution_2(hidden) + short)
        return both if self.attention is None else self.attention(both)


class Pyramid(nn.Module):
    """NCSN++'s second way in: a convolution, then half the size, without an edge between them."""

    def __init__(self, inner: int, outer: int, taps: tuple[int, ...]) -> None:
        super().__init__()
        self.convolution = convolution(inner, outer, 3)
        self.resampling = Resampling("down", taps)
        # The convolution answers beyond the edge, where the filter would else see zeros.
        self.convolution.padding = (1 + self.resampling.padding,) * 2
        self.resampling.padding = 0

    def forward(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d i j"]:
        return self.resampling(self.convolution(images))
