"""The images a generator or an encoder may learn from: the labeled ones of the training split."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from mixcal.build import open_source
from mixcal.core.errors import BadInput
from mixcal.data.options import DataOptions
from mixcal.data.source import Source
from mixcal.data.splits import Splits, split
from mixcal.recipe import Method, Running
from mixcal.synthesis.options import GeneratorRunning


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingImages:
    """A source, its splits, and the positions of the labeled training images."""

    source: Source
    splits: Splits

    @property
    def members(self) -> Int[np.ndarray, " n"]:
        """Positions in the source's training pool."""
        return self.splits.labeled

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of an image."""
        raw = self.source.train.take(np.zeros(1, dtype=np.int64))
        return int(raw.shape[2]), int(raw.shape[3]), int(raw.shape[1])


def training_images(data: DataOptions, seed: int, running: GeneratorRunning) -> TrainingImages:
    """Read the data and split them as a training run with these options does."""
    source = open_source(
        Method(data=data, seed=seed, steps=1),
        Running(
            data_folder=running.data_folder,
            memory_megabytes=running.memory_megabytes,
            workers=running.workers,
            strict=running.strict,
        ),
    )
    if source.kind != "image":
        raise BadInput(f"{source.name} holds no images; a generator draws nothing else.")
    splits = split(source, data, seed=seed)
    if not len(splits.labeled):
        raise BadInput(f"{source.name} has no labeled images; label some.")
    return TrainingImages(source=source, splits=splits)
