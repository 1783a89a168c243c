"""VGG-16 with batch norm (Simonyan & Zisserman, ICLR 2015; arXiv:1409.1556v6), for small images.

Differs from the paper as the calibration codes do: a batch norm after each of the 13 convolutions,
global average pooling and one linear layer in place of three. A pooling rounds up, which changes
nothing at 32, 64 or 224 pixels and lets 28 and 8 pass. Dropout is after every convolution, batch
norm and ReLU, for Monte Carlo dropout. Parameters have torchvision's names.
"""

from torch import Tensor, nn

from mixcal.backbones.between import answered, entered, reached
from mixcal.backbones.initialization import Initialization, initialize
from mixcal.backbones.weights import with_weights
from mixcal.core.activations import Activations, Between
from mixcal.core.quantities import ShareBelowOne

# The widths of the convolutions of each group; a pooling ends a group.
GROUPS = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))
TORCHVISION_NAMES = ((r"^(classifier|linear|fc)\.", "head."),)


class VGG(nn.Module):
    """Five groups of convolutions, average pooling, linear."""

    stages = ("input", "group1", "group2", "group3", "group4", "group5")

    def __init__(self, classes: int, *, channels: int, dropout: float) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        width_in = channels
        for widths in GROUPS:
            for width in widths:
                layers += [nn.Conv2d(width_in, width, 3, 1, 1), nn.BatchNorm2d(width)]
                layers += [nn.ReLU(inplace=True)]
                width_in = width
            layers += [nn.MaxPool2d(2, ceil_mode=True)]
        self.features = nn.Sequential(*layers)
        self.dropout = nn.Dropout(dropout)
        self.feature_width = width_in
        self.head = nn.Linear(width_in, classes)

    def forward(self, inputs: Tensor, between: Between | None = None) -> Activations:
        hidden = entered(between, self.stages, inputs)
        stages = iter(self.stages[1:])
        for layer in self.features:
            hidden = layer(hidden)
            if isinstance(layer, nn.ReLU):
                hidden = self.dropout(hidden)
            elif isinstance(layer, nn.MaxPool2d):
                hidden = reached(between, next(stages), hidden)
        return answered(self.head, hidden.mean((2, 3)))


def vgg_16(
    classes: int,
    *,
    channels: int = 3,
    initialization: Initialization = "glorot",
    dropout: ShareBelowOne = 0.0,
    weights: str = "",
) -> VGG:
    """VGG-16-BN; weights begin as in the public code of the mixup-calibration paper's authors."""
    network = VGG(classes, channels=channels, dropout=dropout)
    initialize(network, initialization)
    return with_weights(network, weights, TORCHVISION_NAMES)
