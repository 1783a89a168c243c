"""Residual networks with activation before convolution (He et al., ECCV 2016; arXiv:1603.05027v3).

As in the paper, at the sizes the mixup papers use for CIFAR: four groups of widths 64 to 512 after
a 3 × 3 stem. Their codes leave out the last batch norm and ReLU: `last_norm = false`. Dropout is
between the convolutions of a block.
"""

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from mixcal.backbones.between import answered, entered, reached
from mixcal.backbones.initialization import Initialization, initialize
from mixcal.backbones.weights import with_weights
from mixcal.core.activations import Activations, Between
from mixcal.core.quantities import ShareBelowOne

BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3)}
WIDTHS = (64, 128, 256, 512)
PUBLISHED_NAMES = ((r"^(linear|fc)\.", "head."), (r"\.shortcut\.0\.", ".shortcut."))


class Block(nn.Module):
    """Batch norm, ReLU, 3 × 3 convolution, twice; a new width's shortcut reads the first ReLU."""

    def __init__(self, width_in: int, width: int, stride: int, dropout: float) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(width_in)
        self.conv1 = nn.Conv2d(width_in, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.dropout = nn.Dropout(dropout)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        same = stride == 1 and width_in == width
        self.shortcut = None if same else nn.Conv2d(width_in, width, 1, stride, bias=False)

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = F.relu(self.bn1(inputs), inplace=True)
        beside = inputs if self.shortcut is None else self.shortcut(hidden)
        hidden = self.dropout(F.relu(self.bn2(self.conv1(hidden)), inplace=True))
        return self.conv2(hidden).add_(beside)


class PreActResNet(nn.Module):
    """Stem, four groups of blocks, batch norm and ReLU, average pooling, linear."""

    stages = ("input", "group1", "group2", "group3", "group4")

    def __init__(
        self,
        classes: int,
        *,
        channels: int,
        depth: Literal[18, 34],
        last_norm: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, WIDTHS[0], 3, 1, 1, bias=False)
        groups = []
        width_in = WIDTHS[0]
        for place, (blocks, width) in enumerate(zip(BLOCKS[depth], WIDTHS, strict=True)):
            first = Block(width_in, width, min(place, 1) + 1, dropout)
            rest = [Block(width, width, 1, dropout) for _ in range(blocks - 1)]
            groups.append(nn.Sequential(first, *rest))
            width_in = width
        self.layer1, self.layer2, self.layer3, self.layer4 = groups
        self.bn = nn.BatchNorm2d(width_in) if last_norm else None
        self.feature_width = width_in
        self.head = nn.Linear(width_in, classes)

    def forward(self, inputs: Tensor, between: Between | None = None) -> Activations:
        hidden = self.conv1(entered(between, self.stages, inputs))
        hidden = reached(between, "group1", self.layer1(hidden))
        hidden = reached(between, "group2", self.layer2(hidden))
        hidden = reached(between, "group3", self.layer3(hidden))
        hidden = reached(between, "group4", self.layer4(hidden))
        if self.bn is not None:
            hidden = F.relu(self.bn(hidden), inplace=True)
        return answered(self.head, hidden.mean((2, 3)))


def preact_resnet(
    classes: int,
    *,
    channels: int = 3,
    depth: Literal[18, 34] = 18,
    last_norm: bool = True,
    initialization: Initialization = "torch",
    dropout: ShareBelowOne = 0.0,
    weights: str = "",
) -> PreActResNet:
    """PreActResNet-18 or -34; weights begin as torch has them, as in the mixup codes."""
    network = PreActResNet(
        classes, channels=channels, depth=depth, last_norm=last_norm, dropout=dropout
    )
    initialize(network, initialization)
    return with_weights(network, weights, PUBLISHED_NAMES)
