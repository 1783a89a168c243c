"""MNIST (LeCun et al. 1998) and Fashion-MNIST (Xiao et al. 2017; arXiv:1708.07747v2).

The four IDX files as published, raw or packed with gzip or xz. A file starts with two zero bytes,
the type (8: bytes), the number of dimensions, and each of them as a big-endian 32-bit integer.
"""

import struct
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from mixcal.core.errors import BadInput
from mixcal.data.archives import DAMAGE, damaged, opened
from mixcal.data.options import DataOptions
from mixcal.data.reading import Reading
from mixcal.data.source import Source
from mixcal.data.sources.place import Published, first_there, missing, packed, places
from mixcal.data.sources.place import published_source as named
from mixcal.data.sources.variant import statistics, words

DIGITS = tuple("0123456789")
CLOTHES = (
    *("T-shirt/top", "trouser", "pullover", "dress", "coat"),
    *("sandal", "shirt", "sneaker", "bag", "ankle boot"),
)
# More than any set of this format holds; a header that says more is not believed.
MOST_BYTES = 1 << 31


def read_mnist(options: DataOptions, reading: Reading) -> Source:
    """70,000 handwritten digits, 28 x 28, gray; mirrored ones would be no digits."""
    return _read("mnist", DIGITS, "MNIST/raw", options, reading, flips=False)


def read_fashion_mnist(options: DataOptions, reading: Reading) -> Source:
    """70,000 pictures of clothes, 28 x 28, gray."""
    return _read("fashion-mnist", CLOTHES, "FashionMNIST/raw", options, reading, flips=True)


def _read(
    name: str,
    classes: tuple[str, ...],
    elsewhere: str,
    options: DataOptions,
    reading: Reading,
    *,
    flips: bool,
) -> Source:
    chosen = words(options)
    arrays = packed(name, reading)
    if arrays is None:
        # Not in the data folder itself: the two sets' files have the same names.
        folders = places(name, reading, elsewhere)[:-1]
        train, test = _pair(name, "train", folders, reading), _pair(name, "t10k", folders, reading)
        arrays = Published(*train, *test, folders[0])
    channels = 1 if arrays.train_images.ndim == 3 else arrays.train_images.shape[3]
    return named(name, classes, arrays, statistics(chosen, name, channels=channels), flips=flips)


def _pair(
    name: str, split: str, folders: list[Path], reading: Reading
) -> tuple[UInt8[np.ndarray, "n h w"], np.ndarray]:
    found = []
    for kind, dimensions in (("images", 3), ("labels", 1)):
        stems = [f"{split}-{kind}{mark}idx{dimensions}-ubyte" for mark in "-."]
        files = [stem + suffix for stem in stems for suffix in ("", ".gz", ".xz")]
        path = first_there(folders, files)
        if path is None:
            raise missing(name, reading, f"{name}/{files[0]} or {files[1]}")
        found.append(read_idx(path, dimensions))
    images, labels = found
    if len(images) != len(labels):
        raise BadInput(
            f"{path} has {len(labels):,} labels for {len(images):,} images; get both files again."
        )
    return images, labels.astype(np.int64)


def read_idx(path: Path, dimensions: int) -> UInt8[np.ndarray, "..."]:
    """One IDX file of bytes with so many dimensions."""
    try:
        with opened(path) as file:
            start = file.read(4 + 4 * dimensions)
            if len(start) < 4 + 4 * dimensions or start[:4] != bytes((0, 0, 8, dimensions)):
                raise BadInput(f"{path} is no IDX file of {dimensions} dimensions; get it again.")
            shape = struct.unpack(f">{dimensions}I", start[4:])
            size = int(np.prod(shape, dtype=object))
            if size > MOST_BYTES:
                raise BadInput(
                    f"{path} says it holds {size:,} bytes, more than any set of its kind; it is "
                    "not the published file, so do not use it."
                )
            data = file.read(size)
    except DAMAGE as error:
        raise damaged(path, error) from None
    if len(data) < size:
        raise BadInput(
            f"{path} is damaged (it ends after {len(data):,} of {size:,} bytes); delete it and "
            "get it again."
        )
    return np.frombuffer(data, np.uint8).reshape(shape)
