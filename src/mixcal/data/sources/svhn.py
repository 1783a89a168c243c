"""SVHN, cropped digits ("format 2"; Netzer et al. 2011): 32 x 32 house numbers in .mat files.

73,257 + 26,032 images; with `variant = "extra"` the 531,131 easier ones follow the training images,
as semi-supervised benchmarks have it. The files call the digit 0 class 10; here it is class 0.
"""

from pathlib import Path

import numpy as np
from jaxtyping import Int, UInt8

from mixcal.core.errors import BadInput
from mixcal.data.options import DataOptions
from mixcal.data.reading import Reading
from mixcal.data.source import Source
from mixcal.data.sources.matlab import read_mat
from mixcal.data.sources.place import (
    Published,
    first_there,
    missing,
    packed,
    places,
    published_source,
)
from mixcal.data.sources.variant import statistics, words

NAME = "svhn"
DIGITS = tuple("0123456789")


def read_svhn(options: DataOptions, reading: Reading) -> Source:
    """House numbers; mirrored ones would be no digits."""
    chosen = words(options, ["extra"])
    arrays = packed(NAME, reading)
    if arrays is None:
        train, test = _part("train", reading), _part("test", reading)
        arrays = Published(*train, *test, reading.folder / NAME)
    if "extra" in chosen:
        images, labels = _part("extra", reading)
        arrays = Published(
            np.concatenate([arrays.train_images, images]),
            np.concatenate([arrays.train_labels, labels]),
            arrays.test_images,
            arrays.test_labels,
            arrays.where,
        )
    return published_source(NAME, DIGITS, arrays, statistics(chosen, NAME, channels=3), flips=False)


def _part(
    part: str, reading: Reading
) -> tuple[UInt8[np.ndarray, "n h w 3"], Int[np.ndarray, " n"]]:
    path = first_there(places(NAME, reading), [f"{part}_32x32.mat"])
    if path is None and part == "extra":
        raise BadInput(
            f"The extra images of {NAME} are not in {reading.folder} (looked for "
            f"{NAME}/extra_32x32.mat); get them with `mixcal data fetch {NAME} --variant extra`, "
            'or leave out method.data.variant = "extra".'
        )
    if path is None:
        raise missing(NAME, reading, f"{NAME}/{part}_32x32.mat")
    return read_digits(path)


def read_digits(path: Path) -> tuple[UInt8[np.ndarray, "n h w 3"], Int[np.ndarray, " n"]]:
    """Images X (height, width, channel, n) and labels y (1 … 10) of one file."""
    images, labels = read_mat(path, ["X", "y"])
    if images.ndim != 4 or images.shape[2] != 3 or images.shape[3] != labels.size:
        raise BadInput(
            f"{path}: X has the shape {images.shape} and y {labels.size:,} labels, not (32, 32, 3, "
            "n) and n; get it again."
        )
    return images.transpose(3, 0, 1, 2), labels.ravel().astype(np.int64) % 10
