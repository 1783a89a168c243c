"""Stand-ins for data sets: their sizes and classes, noise for pictures, nothing to download."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from mixcal.data.source import Source


@dataclass(frozen=True, slots=True)
class Shape:
    """What a stand-in shares with the data set of its name."""

    classes: int
    train: int
    channels: int = 3
    size: int = 32
    unlabeled: int = 0
    flips: bool = True
    own: bool = False
    validation: int = 0


# Sources whose shape the reader's own data would decide come last. Texts have no channels, and
# their size is a number of words.
SHAPES: dict[str, Shape] = {
    "digits": Shape(10, 1_437, channels=1, size=8, flips=False),
    "mnist": Shape(10, 60_000, channels=1, size=28, flips=False),
    "fashion-mnist": Shape(10, 60_000, channels=1, size=28),
    "cifar10": Shape(10, 50_000),
    "cifar100": Shape(100, 50_000),
    "svhn": Shape(10, 73_257, flips=False),
    "stl10": Shape(10, 5_000, size=96, unlabeled=2_000),
    "tiny-imagenet": Shape(200, 100_000, size=64),
    "imagenet": Shape(1000, 130_000, size=256),
    "webvision": Shape(50, 6_500, size=256),
    "cub-200-2011": Shape(200, 5_994, size=300),
    "stanford-cars": Shape(196, 8_144, size=300),
    "mr": Shape(2, 9_595, channels=0, size=56),
    "trec": Shape(6, 5_452, channels=0, size=37),
    "imdb": Shape(2, 25_000, channels=0, size=400),
    "folder": Shape(3, 60, size=64, unlabeled=60, own=True),
    "manifest": Shape(3, 60, size=64, unlabeled=60, own=True),
    "npz": Shape(3, 60, size=64, unlabeled=60, own=True),
}
PICTURES = 16
VOCABULARY = 500


@dataclass(frozen=True, slots=True)
class RepeatingPool:
    """A pool as large as it says, of a few pictures that come again and again."""

    pictures: Tensor
    labels: np.ndarray

    @property
    def ids(self) -> np.ndarray:
        return np.arange(len(self.labels))

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, index: np.ndarray) -> Tensor:
        return self.pictures[torch.from_numpy(np.asarray(index) % len(self.pictures))]

    def prefetch(self, index: np.ndarray) -> None:
        """Nothing."""


def stand_in(name: str, *, size: int = 0) -> Source:
    """A source of the named data set's shape; `size` in place of its own, where pictures are
    brought to another size when they are decoded."""
    shape = SHAPES[name]
    side = size or shape.size
    generator = torch.Generator().manual_seed(0)
    kind: Literal["image", "text"] = "image" if shape.channels else "text"
    if kind == "text":
        pictures = torch.randint(VOCABULARY, (PICTURES, side), generator=generator)
    else:
        pictures = torch.randint(
            256, (PICTURES, shape.channels, side, side), generator=generator, dtype=torch.uint8
        )
    labels = np.arange(shape.train) % shape.classes
    unknown = np.full(shape.unlabeled, -1)
    test = RepeatingPool(pictures, np.arange(2 * shape.classes) % shape.classes)
    return Source(
        name=name,
        classes=tuple(f"class {k}" for k in range(shape.classes)),
        train=RepeatingPool(pictures, np.concatenate([labels, unknown])),
        test=test,
        mean=(0.5,) * shape.channels,
        std=(0.25,) * shape.channels,
        flips=shape.flips,
        own=shape.own,
        kind=kind,
        words=tuple(f"word {k}" for k in range(VOCABULARY)) if kind == "text" else (),
    )
