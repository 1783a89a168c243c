"""Residual networks (He et al., CVPR 2016; arXiv:1512.03385v1) and ResNeXt (Xie et al., CVPR 2017;
arXiv:1611.05431v2).

As in the papers, but a stride in a bottleneck is in its 3 × 3 convolution, as in the public
weights. Beside the papers' stem for ImageNet there is one for small images: 3 × 3, stride 1, no
pooling. Parameters have torchvision's names, so that its files load; only the last linear layer is
called `head` in all our networks. Dropout is between the convolutions of a block, as wide residual
networks have it; `end_dropout` is before the last layer.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from mixcal.backbones.between import answered, entered, reached
from mixcal.backbones.initialization import Initialization, convolutions, initialize
from mixcal.backbones.weights import with_weights
from mixcal.core.activations import Activations, Between
from mixcal.core.quantities import Count, ShareBelowOne

Stem = Literal["small", "imagenet"]

# torchvision's and timm's names, and those of the many codes for CIFAR.
TORCHVISION_NAMES = ((r"^(fc|linear)\.", "head."), (r"\.shortcut\.", ".downsample."))

BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3)}


class BasicBlock(nn.Module):
    """Two 3 × 3 convolutions beside the shortcut."""

    def __init__(
        self, width_in: int, width: int, stride: int, shortcut: nn.Module, dropout: float
    ) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width_in, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.dropout = nn.Dropout(dropout)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = shortcut

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = self.dropout(F.relu(self.bn1(self.conv1(inputs)), inplace=True))
        hidden = self.bn2(self.conv2(hidden))
        return F.relu(hidden.add_(self.downsample(inputs)), inplace=True)


class Bottleneck(nn.Module):
    """1 × 1, 3 × 3 in `branches` groups, 1 × 1 to four times the width, beside the shortcut."""

    def __init__(
        self,
        width_in: int,
        width: int,
        stride: int,
        shortcut: nn.Module,
        dropout: float,
        *,
        branches: int = 1,
        branch_width: int = 64,
    ) -> None:
        super().__init__()
        inner = width * branch_width // 64 * branches
        self.conv1 = nn.Conv2d(width_in, inner, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(inner)
        self.conv2 = nn.Conv2d(inner, inner, 3, stride, 1, groups=branches, bias=False)
        self.bn2 = nn.BatchNorm2d(inner)
        self.dropout = nn.Dropout(dropout)
        self.conv3 = nn.Conv2d(inner, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.downsample = shortcut

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = F.relu(self.bn1(self.conv1(inputs)), inplace=True)
        hidden = self.dropout(F.relu(self.bn2(self.conv2(hidden)), inplace=True))
        hidden = self.bn3(self.conv3(hidden))
        return F.relu(hidden.add_(self.downsample(inputs)), inplace=True)


class Padding(nn.Module):
    """A shortcut without parameters: every second pixel, new channels of zeros on both sides."""

    def __init__(self, width_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.new = width - width_in
        self.stride = stride

    def forward(self, inputs: Tensor) -> Tensor:
        kept = inputs[:, :, :: self.stride, :: self.stride]
        return F.pad(kept, (0, 0, 0, 0, self.new // 2, self.new - self.new // 2))


def projection(width_in: int, width: int, stride: int) -> nn.Module:
    """A shortcut by 1 × 1 convolution and batch norm."""
    convolution = nn.Conv2d(width_in, width, 1, stride, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(width))


class ResNet(nn.Module):
    """Stem, three or four groups of blocks, average pooling, linear."""

    def __init__(
        self,
        classes: int,
        *,
        channels: int,
        block: Callable[..., nn.Module],
        expansion: int = 1,
        blocks: Sequence[int],
        widths: Sequence[int] = (64, 128, 256, 512),
        stem: Stem = "small",
        stem_width: int = 64,
        shortcut: Callable[[int, int, int], nn.Module] = projection,
        pooled: int = 1,
        dropout: float = 0.0,
        end_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.stem = stem
        self.pooled = pooled
        kernel, stride, padding = (3, 1, 1) if stem == "small" else (7, 2, 3)
        self.conv1 = nn.Conv2d(channels, stem_width, kernel, stride, padding, bias=False)
        self.bn1 = nn.BatchNorm2d(stem_width)
        groups: list[nn.Module] = []
        width_in = stem_width
        for place, (depth, width) in enumerate(zip(blocks, widths, strict=True)):
            layers: list[nn.Module] = []
            for stride in (min(place, 1) + 1, *[1] * (depth - 1)):
                same = stride == 1 and width_in == expansion * width
                beside = nn.Identity() if same else shortcut(width_in, expansion * width, stride)
                layers.append(block(width_in, width, stride, beside, dropout))
                width_in = expansion * width
            groups.append(nn.Sequential(*layers))
        self.layer1, self.layer2, self.layer3 = groups[:3]
        self.layer4 = groups[3] if len(groups) > 3 else None
        self.feature_width = width_in * pooled * pooled
        self.end_dropout = nn.Dropout(end_dropout)
        self.head = nn.Linear(self.feature_width, classes)
        self.stages = ("input", *(f"group{place + 1}" for place in range(len(groups))))

    def forward(self, inputs: Tensor, between: Between | None = None) -> Activations:
        hidden = self.conv1(entered(between, self.stages, inputs))
        hidden = F.relu(self.bn1(hidden), inplace=True)
        if self.stem == "imagenet":
            hidden = F.max_pool2d(hidden, 3, 2, 1)
        hidden = reached(between, "group1", self.layer1(hidden))
        hidden = reached(between, "group2", self.layer2(hidden))
        hidden = reached(between, "group3", self.layer3(hidden))
        if self.layer4 is not None:
            hidden = reached(between, "group4", self.layer4(hidden))
        features = F.adaptive_avg_pool2d(hidden, self.pooled).flatten(1)
        return answered(self.head, self.end_dropout(features))


def resnet(
    classes: int,
    *,
    channels: int = 3,
    depth: Literal[18, 34, 50, 101] = 18,
    stem: Stem = "small",
    pooled: Count = 1,
    initialization: Initialization | None = None,
    dropout: ShareBelowOne = 0.0,
    end_dropout: ShareBelowOne = 0.0,
    weights: str = "",
) -> ResNet:
    """ResNet-18, -34, -50 or -101.

    `pooled = 2` is the published variant for Tiny-ImageNet: its last map is pooled to 2 × 2, so
    that ResNet-50 has a head of 8,192 inputs. Weights begin as in the public codes: torch's
    defaults with the small stem, "he" with the ImageNet stem and for `pooled = 2`.
    """
    network = ResNet(
        classes,
        channels=channels,
        block=BasicBlock if depth < 50 else Bottleneck,
        expansion=1 if depth < 50 else 4,
        blocks=BLOCKS[depth],
        stem=stem,
        pooled=pooled,
        dropout=dropout,
        end_dropout=end_dropout,
    )
    usual: Initialization = "torch" if stem == "small" and pooled == 1 else "he"
    initialize(network, initialization or usual)
    return with_weights(network, weights, TORCHVISION_NAMES)


def resnet_32(
    classes: int, *, channels: int = 3, dropout: ShareBelowOne = 0.0, weights: str = ""
) -> ResNet:
    """The paper's ResNet-32 for CIFAR (widths 16, 32, 64; shortcuts without parameters).

    Weights, the head's too, begin as N(0, 2 / fan in), as in the public codes for long-tailed data.
    """
    network = ResNet(
        classes,
        channels=channels,
        block=BasicBlock,
        blocks=(5, 5, 5),
        widths=(16, 32, 64),
        stem_width=16,
        shortcut=Padding,
        dropout=dropout,
    )
    nn.init.kaiming_normal_(network.head.weight)
    for layer in convolutions(network):
        nn.init.kaiming_normal_(layer.weight)
    return with_weights(network, weights, TORCHVISION_NAMES)


def resnext_101(
    classes: int,
    *,
    channels: int = 3,
    stem: Stem = "imagenet",
    dropout: ShareBelowOne = 0.0,
    weights: str = "",
) -> ResNet:
    """ResNeXt-101 32×4d: 32 branches of width 4 in every block."""
    network = ResNet(
        classes,
        channels=channels,
        block=partial(Bottleneck, branches=32, branch_width=4),
        expansion=4,
        blocks=BLOCKS[101],
        stem=stem,
        dropout=dropout,
    )
    initialize(network, "he")
    return with_weights(network, weights, TORCHVISION_NAMES)
