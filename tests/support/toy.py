"""Small batches, networks and clocks for tests of methods."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mixcal.core.activations import Activations, Between
from mixcal.core.clock import Clock
from mixcal.core.facts import DataFacts
from mixcal.core.rows import Batch, Rows, Views

CLASSES = 4
SIZE = 6


class ToyNetwork(nn.Module):
    """Two stages over small images, with batch norm; enough to mix in its middle."""

    stages = ("input", "group1", "group2")

    def __init__(self, classes: int = CLASSES, channels: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, 5, 3, padding=1)
        self.norm = nn.BatchNorm2d(5)
        self.middle = nn.Linear(5, 6)
        self.head = nn.Linear(6, classes)
        self.feature_width = 6

    def forward(self, inputs: Tensor, between: Between | None = None) -> Activations:
        def reached(stage: str, hidden: Tensor) -> Tensor:
            return between.blend(hidden) if between and between.stage == stage else hidden

        hidden = reached("group1", F.relu(self.norm(self.conv(reached("input", inputs)))))
        features = reached("group2", F.relu(self.middle(hidden.mean((2, 3)))))
        return Activations(self.head(features), features)


def toy_rows(n: int, part: str, *, seed: int = 0, known: bool = True, pool: int = 0) -> Rows:
    """Random rows whose class shows in their mean; `pool` positions to draw from (default: n)."""
    generator = torch.Generator().manual_seed(1000 * seed + n)
    labels = torch.randint(CLASSES, (n,), generator=generator)
    inputs = torch.randn(n, 1, SIZE, SIZE, generator=generator) + labels.view(-1, 1, 1, 1)
    targets = F.one_hot(labels, CLASSES).float() if known else torch.zeros(n, CLASSES)
    index = torch.randint(pool or n, (n,), generator=generator) if pool else torch.arange(n)
    return Rows(inputs=inputs, targets=targets, index=index, part=part)


def toy_soft_rows(n: int, part: str, *, seed: int = 0) -> Rows:
    """Rows whose targets are distributions over two classes."""
    rows = toy_rows(n, part, seed=seed)
    share = torch.linspace(0, 1, n)[:, None]
    targets = share * rows.targets + (1 - share) * rows.targets.roll(1, dims=1)
    return Rows(inputs=rows.inputs, targets=targets, index=rows.index, part=part)


def toy_batch(labeled: int = 8, unlabeled: int = 20, *, seed: int = 0) -> Batch:
    """A semi-supervised batch with every extra stream a calibrator may ask for."""
    weak = toy_rows(unlabeled, "weak", seed=seed, known=False, pool=40)
    strong = Rows(inputs=weak.inputs + 0.1, targets=weak.targets, index=weak.index, part="strong")
    hidden = torch.randint(-1, CLASSES, (unlabeled,))
    return Batch(
        labeled=toy_rows(labeled, "labeled", seed=seed + 1, pool=16),
        unlabeled=Views(weak=weak, strong=strong, hidden_labels=hidden),
        extra={
            "partner": toy_rows(labeled, "partner", seed=seed + 2, pool=16),
            "validation": toy_rows(labeled, "validation", seed=seed + 3),
            "synthetic": toy_soft_rows(2 * labeled, "synthetic", seed=seed + 4),
        },
    )


def toy_facts(**changes: object) -> DataFacts:
    """Facts that fit `toy_batch`."""
    known = {"classes": CLASSES, "class_counts": (4,) * CLASSES, "labeled": 16, "unlabeled": 40}
    return DataFacts(**(known | {"steps": 100, "epoch_steps": 10} | changes))


def toy_clock(step: int = 50, *, seed: int = 0) -> Clock:
    """A clock in the middle of a run of 100 steps."""
    return Clock.at(step, seed=seed, steps=100, epoch_steps=10)


def toy_network(seed: int = 0, **sizes: int) -> ToyNetwork:
    """A network whose weights depend on the seed alone."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return ToyNetwork(**sizes)
