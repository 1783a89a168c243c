"""Where published sets lie: in the data folder, in a subfolder of their name, or as NAME.npz."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int, UInt8

from mixcal.core.errors import BadInput
from mixcal.data.pool import MemoryPool
from mixcal.data.reading import Reading
from mixcal.data.source import Source
from mixcal.data.sources.arrays import check_labels, image_pool
from mixcal.data.sources.npz import read_arrays
from mixcal.data.sources.variant import Values

KEYS = ("train_images", "train_labels", "test_images", "test_labels")


@dataclass(frozen=True, slots=True)
class Published:
    """The arrays of a published set, and the file they came from."""

    train_images: UInt8[np.ndarray, "n h w *c"]
    train_labels: Int[np.ndarray, " n"]
    test_images: UInt8[np.ndarray, "m h w *c"]
    test_labels: Int[np.ndarray, " m"]
    where: Path


def places(name: str, reading: Reading, *more: str) -> list[Path]:
    """The folders a set's files may lie in."""
    return [reading.folder / name, *(reading.folder / other for other in more), reading.folder]


def first_there(folders: Sequence[Path], names: Sequence[str]) -> Path | None:
    """The first of these files or folders that is there, folder by folder."""
    for folder in folders:
        for name in names:
            if (folder / name).exists():
                return folder / name
    return None


def packed(name: str, reading: Reading) -> Published | None:
    """The arrays of NAME.npz, if it is there."""
    path = first_there(places(name, reading), [f"{name}.npz"])
    if path is None:
        return None
    arrays = read_arrays(path)
    for key in KEYS:
        if key not in arrays:
            raise BadInput(f"{path} has no array {key!r}; it must have {', '.join(KEYS)}.")
    train = image_pool(arrays["train_images"], arrays["train_labels"], where=str(path))
    test = image_pool(arrays["test_images"], arrays["test_labels"], where=str(path))
    return Published(arrays["train_images"], train.labels, arrays["test_images"], test.labels, path)


def missing(name: str, reading: Reading, wanted: str) -> BadInput:
    """The error for a set that is not there."""
    return BadInput(
        f"{name} is not in {reading.folder} (looked for {wanted} or {name}.npz); get it with "
        f"`mixcal data fetch {name}`, or name the folder it lies in with running.data_folder."
    )


def published_source(
    name: str,
    classes: Sequence[str],
    arrays: Published,
    statistics: tuple[Values | None, Values | None],
    *,
    flips: bool,
) -> Source:
    """A named source out of its arrays."""
    where = str(arrays.where)
    check_labels(arrays.train_labels, classes, where=where, unlabeled=True)
    check_labels(arrays.test_labels, classes, where=where, unlabeled=False)
    return Source(
        name=name,
        classes=tuple(classes),
        train=_pool(arrays.train_images, arrays.train_labels, f"{name}/train"),
        test=_pool(arrays.test_images, arrays.test_labels, f"{name}/test"),
        mean=statistics[0],
        std=statistics[1],
        flips=flips,
    )


def numbered(prefix: str, count: int) -> np.ndarray:
    """Names of samples that have none: their position in the published order."""
    width = len(str(max(count - 1, 0)))
    return np.array([f"{prefix}/{position:0{width}d}" for position in range(count)], dtype=str)


def _pool(images: np.ndarray, labels: np.ndarray, prefix: str) -> MemoryPool:
    return MemoryPool.of_images(images, labels, numbered(prefix, len(labels)))
