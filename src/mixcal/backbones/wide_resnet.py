"""Wide residual networks (Zagoruyko & Komodakis, BMVC 2016; arXiv:1605.07146v4).

Three wirings:

- "semi-supervised", the default of depth 6 n + 4, differs from the paper where the public
  semi-supervised codes do, so that numbers compare: a stem with bias, LeakyReLU(0.1), batch-norm
  momentum 0.001, last batch norm with eps 1e-3, and in the first block of every group but the
  first the convolutions read the raw input; that block's first batch norm has no effect. It is
  kept as parameters without gradient, so that published weights load, but not computed.
- "paper": as in the paper.
- "post-activation", the default of depth 6 n + 2 (26, 14 …): what the public calibration codes
  call WRN-26-10, the residual network of arXiv:1512.03385v1 with three widened groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

import torch.nn.functional as F
from torch import Tensor, nn

from mixcal.backbones.between import answered, entered, reached
from mixcal.backbones.initialization import convolutions, initialize
from mixcal.backbones.resnet import TORCHVISION_NAMES, BasicBlock, ResNet
from mixcal.backbones.weights import with_weights
from mixcal.core.activations import Activations, Between
from mixcal.core.errors import BadInput
from mixcal.core.quantities import Count, PositiveShare, ShareBelowOne

# The names of semilearn's files, and of the many that share their ancestor.
PUBLISHED_NAMES = (
    (r"^bn1\.", "norm."),
    (r"^conv1\.", "stem."),
    *((rf"^block{place + 1}\.layer\.", f"groups.{place}.") for place in range(4)),
    (r"\.bn([12])\.", r".norm\1."),
    (r"\.convShortcut\.", ".shortcut."),
    (r"^(fc|classifier)\.", "head."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """Where the paper and the semi-supervised codes part."""

    slope: float
    momentum: float
    last_epsilon: float
    stem_bias: bool
    # What the convolutions of a block read that changes the width, after the first group: the
    # activated input that the shortcut reads too, or both the raw input.
    later_entry: Literal["activated", "raw"]


SEMI_SUPERVISED = Wiring(
    slope=0.1, momentum=0.001, last_epsilon=1e-3, stem_bias=True, later_entry="raw"
)
PAPER = Wiring(slope=0.0, momentum=0.1, last_epsilon=1e-5, stem_bias=False, later_entry="activated")


class Block(nn.Module):
    """Two 3 × 3 convolutions, each after batch norm and (Leaky)ReLU, and a shortcut."""

    def __init__(
        self, width_in: int, width: int, stride: int, wiring: Wiring, raw: bool, dropout: float
    ) -> None:
        super().__init__()
        self.same = width_in == width and stride == 1
        self.raw = raw
        self.slope = wiring.slope
        self.norm1 = nn.BatchNorm2d(width_in, momentum=wiring.momentum)
        self.conv1 = nn.Conv2d(width_in, width, 3, stride, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width, momentum=wiring.momentum)
        self.dropout = nn.Dropout(dropout)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        if not self.same:
            self.shortcut = nn.Conv2d(width_in, width, 1, stride, bias=False)

    def forward(self, inputs: Tensor) -> Tensor:
        if self.same:
            hidden = self.conv1(self._active(self.norm1, inputs))
        else:
            inputs = inputs if self.raw else self._active(self.norm1, inputs)
            hidden = self.conv1(inputs)
        hidden = self.conv2(self.dropout(self._active(self.norm2, hidden)))
        return cast(Tensor, hidden.add_(inputs if self.same else self.shortcut(inputs)))

    def _active(self, norm: nn.Module, hidden: Tensor) -> Tensor:
        return F.leaky_relu(norm(hidden), self.slope, inplace=True)


class WideResNet(nn.Module):
    """Stem, groups of equal blocks, batch norm, global average pooling, linear."""

    def __init__(
        self,
        classes: int,
        *,
        channels: int,
        blocks: int,
        widths: Sequence[int],
        strides: Sequence[int],
        wiring: Wiring = SEMI_SUPERVISED,
        stem: int = 16,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.slope = wiring.slope
        self.stem = nn.Conv2d(channels, stem, 3, 1, 1, bias=wiring.stem_bias)
        self.groups = nn.ModuleList()
        width_in = stem
        for place, (width, stride) in enumerate(zip(widths, strides, strict=True)):
            raw = place > 0 and wiring.later_entry == "raw"
            first = Block(width_in, width, stride, wiring, raw, dropout)
            rest = [Block(width, width, 1, wiring, raw, dropout) for _ in range(blocks - 1)]
            self.groups.append(nn.Sequential(first, *rest))
            width_in = width
        self.norm = nn.BatchNorm2d(width_in, eps=wiring.last_epsilon, momentum=wiring.momentum)
        self.head = nn.Linear(width_in, classes)
        self.stages = ("input", *(f"group{place + 1}" for place in range(len(widths))))
        self.feature_width = width_in
        self._initialize(wiring)

    def _initialize(self, wiring: Wiring) -> None:
        for layer in convolutions(self):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
        nn.init.zeros_(self.head.bias)
        if wiring.later_entry == "activated":
            return
        nn.init.xavier_normal_(self.head.weight)
        for group in list(self.groups)[1:]:
            # The batch norm without effect: no gradient, so no weight decay and no averaging.
            cast(nn.Sequential, group)[0].norm1.requires_grad_(False)

    def forward(self, inputs: Tensor, between: Between | None = None) -> Activations:
        hidden = self.stem(entered(between, self.stages, inputs))
        for stage, group in zip(self.stages[1:], self.groups, strict=True):
            hidden = reached(between, stage, group(hidden))
        hidden = F.leaky_relu(self.norm(hidden), self.slope, inplace=True)
        return answered(self.head, hidden.mean((2, 3)))


def wide_resnet(
    classes: int,
    *,
    channels: int = 3,
    depth: Count = 28,
    width: Count = 2,
    wiring: Literal["auto", "semi-supervised", "paper", "post-activation"] = "auto",
    dropout: ShareBelowOne = 0.0,
    weights: str = "",
) -> WideResNet | ResNet:
    """WRN-depth-width, for images of 32 × 32 and the like."""
    if wiring == "auto":
        wiring = "post-activation" if depth % 6 == 2 else "semi-supervised"
    extra = 2 if wiring == "post-activation" else 4
    if depth < 6 + extra or depth % 6 != extra or width < 1:
        raise BadInput(
            f"wrn-{depth}-{width} is no wide residual network of wiring {wiring!r}; the depth must "
            f"be 6 n + {extra} ({6 + extra}, {12 + extra} … {24 + extra}) and the width at least 1."
        )
    # Without the stem, the shortcuts and the head: two convolutions a block, three groups.
    blocks = depth // 6
    widths = [16 * width, 32 * width, 64 * width]
    if wiring == "post-activation":
        network = ResNet(
            classes,
            channels=channels,
            block=BasicBlock,
            blocks=[blocks] * 3,
            widths=widths,
            stem_width=16,
            dropout=dropout,
        )
        initialize(network, "he")
        return with_weights(network, weights, TORCHVISION_NAMES)
    return with_weights(
        WideResNet(
            classes,
            channels=channels,
            blocks=blocks,
            widths=widths,
            strides=[1, 2, 2],
            wiring=PAPER if wiring == "paper" else SEMI_SUPERVISED,
            dropout=dropout,
        ),
        weights,
        PUBLISHED_NAMES,
    )


def wide_resnet_37_2(
    classes: int, *, channels: int = 3, dropout: ShareBelowOne = 0.0, weights: str = ""
) -> WideResNet:
    """The public codes' "WRN-37-2" for 96 × 96: WRN-28-2 with a first stride and a fourth group.

    It has 5.9 million parameters; the 23.8 million of the FixMatch paper are another network.
    """
    network = WideResNet(
        classes,
        channels=channels,
        blocks=4,
        widths=[32, 64, 128, 256],
        strides=[2, 2, 2, 2],
        dropout=dropout,
    )
    return with_weights(network, weights, PUBLISHED_NAMES)


def small(
    classes: int,
    *,
    channels: int = 3,
    stride: Count = 1,
    dropout: ShareBelowOne = 0.0,
    momentum: PositiveShare = 0.01,
    weights: str = "",
) -> WideResNet:
    """A network for CPUs: WRN-10-2, at half the resolution with `stride = 2`.

    Its runs are short: at the published momentum of 0.001 the batch norms' running statistics lag
    behind the weights for thousands of steps, and tests see a worse network than training does.
    """
    network = WideResNet(
        classes,
        channels=channels,
        blocks=1,
        widths=[32, 64, 128],
        strides=[stride, 2, 2],
        wiring=replace(SEMI_SUPERVISED, momentum=momentum),
        dropout=dropout,
    )
    return with_weights(network, weights, PUBLISHED_NAMES)
