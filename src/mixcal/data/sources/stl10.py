"""STL-10 (Coates et al. 2011): 96 x 96 colour images, 5,000 labeled, 100,000 unlabeled, 8,000 test.

The binary files, unpacked or in their archive. An image is stored one colour after another, each
column by column; labels go from 1 to 10. The training pool is the labeled images, then the
unlabeled ones (label −1).
"""

from pathlib import Path

import numpy as np

from mixcal.core.errors import BadInput
from mixcal.data.archives import GIGABYTE, read_members
from mixcal.data.mapped_pool import MappedPool
from mixcal.data.options import DataOptions
from mixcal.data.pool import UNLABELED, MemoryPool, Pool
from mixcal.data.reading import Reading
from mixcal.data.source import Source
from mixcal.data.sources.arrays import check_labels
from mixcal.data.sources.place import (
    first_there,
    missing,
    numbered,
    packed,
    places,
    published_source,
)
from mixcal.data.sources.variant import statistics, words

NAME = "stl10"
CLASSES = (
    *("airplane", "bird", "car", "cat", "deer"),
    *("dog", "horse", "monkey", "ship", "truck"),
)
IMAGE = 3 * 96 * 96
FILES = ("train_X.bin", "train_y.bin", "test_X.bin", "test_y.bin", "unlabeled_X.bin")
ARCHIVE = "stl10_binary.tar.gz"


def read_stl10(options: DataOptions, reading: Reading) -> Source:
    """STL-10; its ten folds are not used."""
    chosen = words(options)
    values = statistics(chosen, NAME, channels=3)
    arrays = packed(NAME, reading)
    if arrays is not None:
        return published_source(NAME, CLASSES, arrays, values, flips=True)
    files, where = _files(reading)
    labels, test_labels = _labels(files, "train", where), _labels(files, "test", where)
    train, test = _images(files, "train", where), _images(files, "test", where)
    unlabeled = _images(files, "unlabeled", where)
    for part, images, known in (("train", train, labels), ("test", test, test_labels)):
        if len(images) != len(known):
            raise BadInput(
                f"{where}: {part}_X.bin holds {len(images):,} images, {part}_y.bin {len(known):,} "
                f"labels; get {NAME} again."
            )
    ids = np.concatenate(
        [numbered(f"{NAME}/train", len(train)), numbered(f"{NAME}/unlabeled", len(unlabeled))]
    )
    everything = np.concatenate([labels, np.full(len(unlabeled), UNLABELED)])
    pool: Pool = MappedPool((train, unlabeled), everything, ids)
    if where.is_dir() and len(pool) * IMAGE <= reading.memory_megabytes << 20:
        pool = MemoryPool(pool.take(np.arange(len(pool))), everything, ids)
    tested = MappedPool((test,), test_labels, numbered(f"{NAME}/test", len(test)))
    return Source(
        name=NAME,
        classes=CLASSES,
        train=pool,
        test=MemoryPool(tested.take(np.arange(len(test))), tested.labels, tested.ids),
        mean=values[0],
        std=values[1],
    )


def _files(reading: Reading) -> tuple[dict[str, np.ndarray], Path]:
    """The contents of the five files; those of unpacked ones stay on disk."""
    folders = places(NAME, reading, f"{NAME}/stl10_binary", "stl10_binary")
    unpacked = first_there(folders, [FILES[0]])
    if unpacked is not None:
        where = unpacked.parent
        there = [name for name in FILES if (where / name).is_file()]
        found = {name: _mapped(where / name) for name in there}
    else:
        archive = first_there(folders, [ARCHIVE])
        if archive is None:
            raise missing(NAME, reading, f"{NAME}/{FILES[0]} or {NAME}/{ARCHIVE}")
        where = archive
        if reading.memory_megabytes < 3000:
            raise BadInput(
                f"{archive} holds 3 GB, more than running.memory_megabytes = "
                f"{reading.memory_megabytes} lets be unpacked in memory; unpack it beside the "
                "archive (tar -xzf), or raise the limit."
            )
        packed_files = read_members(archive, FILES, most_bytes=4 * GIGABYTE)
        found = {name: np.frombuffer(data, np.uint8) for name, data in packed_files.items()}
    for name in FILES:
        if name not in found:
            raise BadInput(f"{where} has no file {name}; get it with `mixcal data fetch {NAME}`.")
    return found, where


def _mapped(path: Path) -> np.ndarray:
    if not path.stat().st_size:
        raise BadInput(f"{path} is empty; get {NAME} again.")
    return np.memmap(path, np.uint8, "r")


def _images(files: dict[str, np.ndarray], part: str, where: Path) -> np.ndarray:
    data = files[f"{part}_X.bin"]
    if len(data) % IMAGE:
        raise BadInput(
            f"{where}: {part}_X.bin has {len(data):,} bytes, which are no whole images; get {NAME} "
            "again."
        )
    # Height and width change places: columns come first.
    return data.reshape(-1, 3, 96, 96).transpose(0, 1, 3, 2)


def _labels(files: dict[str, np.ndarray], part: str, where: Path) -> np.ndarray:
    labels = files[f"{part}_y.bin"].astype(np.int64) - 1
    check_labels(labels, CLASSES, where=f"{where}, {part}_y.bin less 1", unlabeled=False)
    return labels
