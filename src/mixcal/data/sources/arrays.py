"""Sources out of arrays: what every reader ends in, and a door for arrays from Python."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int, Shaped

from mixcal.core.errors import BadInput
from mixcal.data.pool import UNLABELED, MemoryPool
from mixcal.data.source import Source

NO_TEST = (
    "There is no test data, so this run can report validation only; give some to have an honest "
    "last word."
)


def source_from_arrays(
    images: Shaped[np.ndarray, "..."],
    labels: Shaped[np.ndarray, "..."],
    *,
    test_images: Shaped[np.ndarray, "..."] | None = None,
    test_labels: Shaped[np.ndarray, "..."] | None = None,
    validation_images: Shaped[np.ndarray, "..."] | None = None,
    validation_labels: Shaped[np.ndarray, "..."] | None = None,
    classes: Sequence[str] = (),
    flips: bool = True,
    name: str = "arrays",
) -> Source:
    """A person's own arrays as a source: uint8 images (n, h, w) or (n, h, w, c), 1 or 3 channels.

    Labels are 0, 1, 2 … as places in `classes` (default: the numbers themselves); a training
    image whose label is −1 is unlabeled. Arrays are not copied where they need not be.
    """
    train = image_pool(images, labels, where=f"{name}, training data")
    names = tuple(str(entry) for entry in classes) or counted(train.labels, where=name)
    check_classes(names, train, where=name)
    test = _part(test_images, test_labels, train, names, f"{name}, test data")
    return Source(
        name=name,
        classes=names,
        train=train,
        test=test,
        validation=_part(
            validation_images, validation_labels, train, names, f"{name}, validation data"
        ),
        flips=flips,
        own=True,
        remarks=(NO_TEST,) if test is None else (),
    )


def counted(labels: Int[np.ndarray, " n"], *, where: str) -> tuple[str, ...]:
    """Class names for labels that have none: 0, 1, 2 …, each of which must occur."""
    given = np.unique(labels[labels != UNLABELED])
    if len(given) and given[0] < 0:
        raise BadInput(
            f"{where}, training data: label {given[0]} is no class; labels are 0, 1, 2 …, or -1 "
            "for none."
        )
    gaps = np.flatnonzero(given != np.arange(len(given)))
    if len(gaps):
        raise BadInput(
            f"{where}: there are labels up to {given[-1]:,}, but class '{gaps[0]}' has no labeled "
            "training image; label some, or number the classes 0, 1, 2 … and name them in "
            "`classes`."
        )
    return tuple(str(k) for k in range(len(given)))


def image_pool(
    images: Shaped[np.ndarray, "..."], labels: Shaped[np.ndarray, "..."], *, where: str
) -> MemoryPool:
    """A pool of arrays, once their types and shapes are as they must be."""
    if images.dtype != np.uint8:
        raise BadInput(
            f"{where}: images are {images.dtype}; give whole numbers from 0 to 255 as uint8."
        )
    if images.ndim not in (3, 4) or (images.ndim == 4 and images.shape[3] not in (1, 3)):
        raise BadInput(
            f"{where}: images have the shape {images.shape}; give (n, height, width) or (n, "
            "height, width, channels) with 1 or 3 channels."
        )
    if labels.ndim != 1 or len(labels) != len(images):
        raise BadInput(
            f"{where}: there are {len(images):,} images and labels of shape {labels.shape}; give "
            "one label an image."
        )
    if not np.issubdtype(labels.dtype, np.integer):
        raise BadInput(f"{where}: labels are {labels.dtype}; give whole numbers from 0 on.")
    return MemoryPool.of_images(images, labels.astype(np.int64))


def check_labels(
    labels: Int[np.ndarray, " n"], classes: Sequence[str], *, where: str, unlabeled: bool
) -> None:
    """Refuse labels outside the classes; −1 is allowed where there may be unlabeled images."""
    outside = (labels >= len(classes)) | (labels < (UNLABELED if unlabeled else 0))
    if outside.any():
        place = int(np.argmax(outside))
        also = ", or -1 for none" if unlabeled else ""
        raise BadInput(
            f"{where}: label {labels[place]} (at position {place}) lies outside the "
            f"{len(classes)} classes; labels go from 0 to {len(classes) - 1}{also}."
        )


def check_classes(classes: Sequence[str], train: MemoryPool, *, where: str) -> None:
    """Refuse fewer than two classes, classes of one name, and classes without an image."""
    check_labels(train.labels, classes, where=f"{where}, training data", unlabeled=True)
    if len(classes) < 2:
        raise BadInput(f"{where}: there are {len(classes)} classes; a classifier needs two.")
    if len(set(classes)) < len(classes):
        raise BadInput(f"{where}: two classes have the same name; give each its own.")
    counts = np.bincount(train.labels[train.labels >= 0], minlength=len(classes))
    if not counts.all():
        missing = classes[int(np.argmin(counts))]
        raise BadInput(
            f"{where}: class {missing!r} has no labeled training image; label some, or leave the "
            "class out."
        )


def _part(
    images: np.ndarray | None,
    labels: np.ndarray | None,
    train: MemoryPool,
    classes: Sequence[str],
    where: str,
) -> MemoryPool | None:
    if images is None or labels is None:
        if images is not None or labels is not None:
            raise BadInput(f"{where}: give images and labels, both or neither.")
        return None
    if not len(images) and not len(labels):
        return None
    pool = image_pool(images, labels, where=where)
    check_labels(pool.labels, classes, where=where, unlabeled=False)
    if pool.raw.shape[1:] != train.raw.shape[1:]:
        raise BadInput(
            f"{where}: images are {tuple(pool.raw.shape[1:])} (channels, height, width), training "
            f"images {tuple(train.raw.shape[1:])}; bring them to one shape."
        )
    return pool
