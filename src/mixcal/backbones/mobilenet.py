"""MobileNetV2 (Sandler et al., CVPR 2018; arXiv:1801.04381v4).

As in the paper, with a dropout before the last layer as the public weights were trained. `stem =
"small"` leaves out the first two strides; the parameters stay the same, so that a published file
loads with either stem. Parameters have torchvision's names.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from mixcal.backbones.between import answered, entered, reached
from mixcal.backbones.initialization import initialize
from mixcal.backbones.resnet import Stem
from mixcal.backbones.weights import with_weights
from mixcal.core.activations import Activations, Between
from mixcal.core.quantities import ShareBelowOne

# Expansion, width, blocks, stride of each group: the paper's Table 2.
GROUPS = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
FIRST, LAST = 32, 1280
TORCHVISION_NAMES = ((r"^(classifier\.1|classifier|linear)\.", "head."),)


def filtered(
    width_in: int, width: int, kernel: int, stride: int = 1, *, groups: int = 1
) -> nn.Sequential:
    """Convolution, batch norm, ReLU6."""
    return nn.Sequential(
        nn.Conv2d(width_in, width, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU6(inplace=True),
    )


class InvertedResidual(nn.Module):
    """1 × 1 to a larger width, 3 × 3 for each channel alone, 1 × 1 to the new width."""

    def __init__(self, width_in: int, width: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = width_in * expansion
        layers = [filtered(width_in, inner, 1)] if expansion > 1 else []
        layers += [filtered(inner, inner, 3, stride, groups=inner)]
        self.conv = nn.Sequential(
            *layers, nn.Conv2d(inner, width, 1, bias=False), nn.BatchNorm2d(width)
        )
        self.same = stride == 1 and width_in == width

    def forward(self, inputs: Tensor) -> Tensor:
        hidden: Tensor = self.conv(inputs)
        return hidden.add_(inputs) if self.same else hidden


class MobileNetV2(nn.Module):
    """Stem, seven groups of inverted residuals, 1 × 1 to 1,280, average pooling, linear."""

    def __init__(self, classes: int, *, channels: int, stem: Stem, dropout: float) -> None:
        super().__init__()
        small = stem == "small"
        layers: list[nn.Module] = [filtered(channels, FIRST, 3, 1 if small else 2)]
        self.stages = ("input", *(f"group{place}" for place in range(1, len(GROUPS) + 1)))
        self.ends: dict[int, str] = {}
        width_in = FIRST
        for place, (expansion, width, blocks, stride) in enumerate(GROUPS, start=1):
            first = 1 if small and place == 2 else stride
            for step in (first, *[1] * (blocks - 1)):
                layers.append(InvertedResidual(width_in, width, step, expansion))
                width_in = width
            self.ends[len(layers) - 1] = f"group{place}"
        layers.append(filtered(width_in, LAST, 1))
        self.features = nn.Sequential(*layers)
        self.dropout = nn.Dropout(dropout)
        self.feature_width = LAST
        self.head = nn.Linear(LAST, classes)
        initialize(self, "he")
        nn.init.normal_(self.head.weight, std=0.01)
        nn.init.zeros_(self.head.bias)

    def forward(self, inputs: Tensor, between: Between | None = None) -> Activations:
        hidden = entered(between, self.stages, inputs)
        for place, layer in enumerate(self.features):
            hidden = layer(hidden)
            if place in self.ends:
                hidden = reached(between, self.ends[place], hidden)
        features = F.adaptive_avg_pool2d(hidden, 1).flatten(1)
        return answered(self.head, self.dropout(features))


def mobilenet_v2(
    classes: int,
    *,
    channels: int = 3,
    stem: Stem = "small",
    dropout: ShareBelowOne = 0.2,
    weights: str = "",
) -> MobileNetV2:
    """MobileNetV2 of width 1; weights begin as torchvision has them."""
    network = MobileNetV2(classes, channels=channels, stem=stem, dropout=dropout)
    return with_weights(network, weights, TORCHVISION_NAMES)
