"""A network that costs next to nothing: one hidden layer over sixteen columns, for any width."""

import torch.nn.functional as F
from torch import Tensor, nn

from mixcal.core.activations import Activations, Between

COLUMNS = 16


class Little(nn.Module):
    """Average pooling to one row, linear, ReLU, linear."""

    def __init__(self, classes: int, channels: int) -> None:
        super().__init__()
        self.stages = ("input",)
        self.feature_width = 32
        self.body = nn.Linear(channels * COLUMNS, self.feature_width)
        self.head = nn.Linear(self.feature_width, classes)

    def forward(self, inputs: Tensor, between: Between | None = None) -> Activations:
        hidden = self.body(F.adaptive_avg_pool2d(inputs, (1, COLUMNS)).flatten(1)).relu()
        return Activations(self.head(hidden), hidden)


def little(classes: int, *, channels: int = 1) -> Little:
    """As a recipe names it: tests.support.little_network:little."""
    return Little(classes, channels)
