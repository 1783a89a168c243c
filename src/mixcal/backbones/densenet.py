"""DenseNet-121 (Huang et al., CVPR 2017; arXiv:1608.06993v5).

As in the paper with its stem for ImageNet. `stem = "small"` is what the calibration codes train on
CIFAR: the same four dense blocks after one 3 × 3 convolution, and not the paper's own three-block
networks for CIFAR. Dropout is after each convolution except the first; `end_dropout` is before the
last layer. Parameters have torchvision's names.
"""

from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mixcal.backbones.between import answered, entered, reached
from mixcal.backbones.initialization import Initialization, initialize
from mixcal.backbones.resnet import Stem
from mixcal.backbones.weights import with_weights
from mixcal.core.activations import Activations, Between
from mixcal.core.errors import BadInput
from mixcal.core.quantities import ShareBelowOne

GROWTH = 32
BLOCKS = (6, 12, 24, 16)
# Which layers end a group.
ENDS = {
    "transition1": "group1",
    "transition2": "group2",
    "transition3": "group3",
    "denseblock4": "group4",
}
SMALLEST = 29
# The published files were made before names could hold no dots: "norm.1" is "norm1".
TORCHVISION_NAMES = (
    (r"^(classifier|linear|fc)\.", "head."),
    (r"(denselayer\d+\.(?:norm|conv))\.([12])\.", r"\1\2."),
)


class DenseLayer(nn.Module):
    """Batch norm, ReLU, 1 × 1, the same with 3 × 3; the result is put beside the inputs."""

    def __init__(self, width_in: int, dropout: float) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(width_in)
        self.conv1 = nn.Conv2d(width_in, 4 * GROWTH, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * GROWTH)
        self.conv2 = nn.Conv2d(4 * GROWTH, GROWTH, 3, 1, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = self.conv1(F.relu(self.norm1(inputs), inplace=True))
        hidden = F.relu(self.norm2(self.dropout(hidden)), inplace=True)
        return torch.cat([inputs, self.dropout(self.conv2(hidden))], 1)


class Transition(nn.Module):
    """Batch norm, ReLU, 1 × 1 to half the width, average pooling to half the size."""

    def __init__(self, width_in: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(width_in)
        self.conv = nn.Conv2d(width_in, width_in // 2, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = self.conv(F.relu(self.norm(inputs), inplace=True))
        return F.avg_pool2d(self.dropout(hidden), 2)


class DenseNet(nn.Module):
    """Stem, four dense blocks with transitions between them, average pooling, linear.

    A group ends with its transition.
    """

    stages = ("input", "group1", "group2", "group3", "group4")

    def __init__(
        self,
        classes: int,
        *,
        channels: int,
        stem: Stem,
        dropout: float,
        end_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        width = 2 * GROWTH
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        if stem == "small":
            layers["conv0"] = nn.Conv2d(channels, width, 3, 1, 1, bias=False)
        else:
            layers["conv0"] = nn.Conv2d(channels, width, 7, 2, 3, bias=False)
            layers["norm0"] = nn.BatchNorm2d(width)
            layers["relu0"] = nn.ReLU(inplace=True)
            layers["pool0"] = nn.MaxPool2d(3, 2, 1)
        for place, depth in enumerate(BLOCKS, start=1):
            block: OrderedDict[str, nn.Module] = OrderedDict()
            for layer in range(1, depth + 1):
                block[f"denselayer{layer}"] = DenseLayer(width, dropout)
                width += GROWTH
            layers[f"denseblock{place}"] = nn.Sequential(block)
            if place < len(BLOCKS):
                layers[f"transition{place}"] = Transition(width, dropout)
                width //= 2
        layers["norm5"] = nn.BatchNorm2d(width)
        self.features = nn.Sequential(layers)
        self.feature_width = width
        self.end_dropout = nn.Dropout(end_dropout)
        self.head = nn.Linear(width, classes)
        nn.init.zeros_(self.head.bias)

    def forward(self, inputs: Tensor, between: Between | None = None) -> Activations:
        hidden = entered(between, self.stages, inputs)
        for name, layer in self.features.named_children():
            hidden = layer(hidden)
            if name in ENDS:
                hidden = reached(between, ENDS[name], hidden)
        features = F.relu(hidden, inplace=True).mean((2, 3))
        return answered(self.head, self.end_dropout(features))


def densenet_121(
    classes: int,
    *,
    channels: int = 3,
    size: int = 224,
    stem: Stem = "small",
    initialization: Initialization | None = None,
    dropout: ShareBelowOne = 0.0,
    end_dropout: ShareBelowOne = 0.0,
    weights: str = "",
) -> DenseNet:
    """DenseNet-121.

    Weights begin as in the public codes: torch's defaults with the small stem, "he" with the fan in
    with the ImageNet stem.
    """
    if stem == "imagenet" and size < SMALLEST:
        raise BadInput(
            f"densenet-121 with stem 'imagenet' halves its maps five times and needs {SMALLEST} "
            f"pixels, not {size}; take stem 'small' or a larger method.views.size."
        )
    network = DenseNet(
        classes, channels=channels, stem=stem, dropout=dropout, end_dropout=end_dropout
    )
    initialize(network, initialization or ("torch" if stem == "small" else "he"), "fan_in")
    return with_weights(network, weights, TORCHVISION_NAMES)
