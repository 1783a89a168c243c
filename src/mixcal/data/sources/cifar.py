"""CIFAR-10 and CIFAR-100 (Krizhevsky 2009, "Learning multiple layers of features").

50,000 + 10,000 colour images, 32 x 32, in 10 or 100 classes; as archives or unpacked, in the
binary version (records of labels, then 1,024 bytes each of red, green, blue) or the python version,
whose pickles are read without being run.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int, UInt8

from mixcal.core.errors import BadInput
from mixcal.data.archives import GIGABYTE, damaged, read_members
from mixcal.data.options import DataOptions
from mixcal.data.reading import Reading
from mixcal.data.source import Source
from mixcal.data.sources.cifar_classes import CIFAR10, CIFAR100
from mixcal.data.sources.pickled_batch import read_pickled_batch
from mixcal.data.sources.place import (
    Published,
    first_there,
    missing,
    packed,
    places,
    published_source,
)
from mixcal.data.sources.variant import statistics, words

PIXELS = 3 * 32 * 32
BATCHES = tuple(f"data_batch_{number}" for number in range(1, 6))


@dataclass(frozen=True, slots=True)
class Layout:
    """How one of the two sets is published."""

    name: str
    classes: tuple[str, ...]
    train: tuple[str, ...]
    test: str
    # Label bytes before the pixels, the wanted one last, and the key of the wanted labels.
    label_bytes: int
    key: str
    binary: tuple[str, ...]
    python: tuple[str, ...]


LAYOUTS = {
    "cifar10": Layout(
        "cifar10",
        CIFAR10,
        BATCHES,
        "test_batch",
        1,
        "labels",
        ("cifar-10-batches-bin", "cifar-10-binary.tar.gz"),
        ("cifar-10-batches-py", "cifar-10-python.tar.gz"),
    ),
    "cifar100": Layout(
        "cifar100",
        CIFAR100,
        ("train",),
        "test",
        2,
        "fine_labels",
        ("cifar-100-binary", "cifar-100-binary.tar.gz"),
        ("cifar-100-python", "cifar-100-python.tar.gz"),
    ),
}


def read_cifar10(options: DataOptions, reading: Reading) -> Source:
    """CIFAR-10."""
    return _read(LAYOUTS["cifar10"], options, reading)


def read_cifar100(options: DataOptions, reading: Reading) -> Source:
    """CIFAR-100, with its 100 fine labels."""
    return _read(LAYOUTS["cifar100"], options, reading)


def _read(layout: Layout, options: DataOptions, reading: Reading) -> Source:
    chosen = words(options)
    arrays = packed(layout.name, reading) or _published(layout, reading)
    return published_source(
        layout.name,
        layout.classes,
        arrays,
        statistics(chosen, layout.name, channels=3),
        flips=True,
    )


def _published(layout: Layout, reading: Reading) -> Published:
    path, ending = _found(layout, reading)
    files = [name + ending for name in (*layout.train, layout.test)]
    found = read_members(path, files, most_bytes=GIGABYTE)
    for name in files:
        if name not in found:
            raise BadInput(
                f"{path} has no file {name}; get it again with `mixcal data fetch {layout.name}`."
            )
    read = [_batch(found[name], layout, path / name, pickled=not ending) for name in files]
    images = np.concatenate([images for images, _ in read[:-1]])
    labels = np.concatenate([labels for _, labels in read[:-1]])
    return Published(images, labels, *read[-1], path)


def _found(layout: Layout, reading: Reading) -> tuple[Path, str]:
    """The archive or folder with the batches, and how their names end."""
    folders = places(layout.name, reading)
    path = first_there(folders, (*layout.binary, *layout.python))
    if path is not None:
        return path, ".bin" if path.name in layout.binary else ""
    for ending in (".bin", ""):
        if (folders[0] / (layout.train[0] + ending)).is_file():
            return folders[0], ending
    raise missing(layout.name, reading, f"{layout.name}/{layout.binary[1]}")


def _batch(
    contents: bytes, layout: Layout, where: Path, *, pickled: bool
) -> tuple[UInt8[np.ndarray, "n h w 3"], Int[np.ndarray, " n"]]:
    if pickled:
        try:
            pixels, labels = read_pickled_batch(contents, layout.key)
        except ValueError as error:
            raise damaged(where, error) from None
    else:
        length = layout.label_bytes + PIXELS
        if len(contents) % length:
            raise damaged(where, ValueError(f"{len(contents):,} bytes are no whole records"))
        records = np.frombuffer(contents, np.uint8).reshape(-1, length)
        labels = records[:, layout.label_bytes - 1].astype(np.int64)
        pixels = records[:, layout.label_bytes :]
    if not len(labels) or pixels.size != PIXELS * len(labels):
        raise damaged(where, ValueError(f"{len(labels):,} labels, {pixels.size:,} bytes of pixels"))
    return planes(pixels, 32), labels


def planes(pixels: UInt8[np.ndarray, "..."], side: int) -> UInt8[np.ndarray, "n h w 3"]:
    """Images stored one colour after another, as height, width, channels."""
    return pixels.reshape(-1, 3, side, side).transpose(0, 2, 3, 1)
