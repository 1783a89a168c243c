"""Tiny-ImageNet (Stanford CS231n): 200 classes, 64 x 64 colour JPEGs, 100,000 + 10,000 images.

The zip as published, or unpacked. The official validation set is the test set: the labels of the
official test set are not public. A few gray pictures are read as colour.
"""

from pathlib import Path

import numpy as np

from mixcal.core.errors import BadInput
from mixcal.data.archives import GIGABYTE, FolderStore, Store, ZipStore
from mixcal.data.options import DataOptions
from mixcal.data.pictures import Listing, published_album
from mixcal.data.reading import Reading
from mixcal.data.source import Source
from mixcal.data.sources.place import (
    first_there,
    missing,
    packed,
    places,
    published_source,
)
from mixcal.data.sources.synsets import named, words_in
from mixcal.data.sources.variant import statistics, words

NAME = "tiny-imagenet"
FOLDER = "tiny-imagenet-200"
SIDE = 64


def read_tiny_imagenet(options: DataOptions, reading: Reading) -> Source:
    """Tiny-ImageNet."""
    chosen = words(options)
    values = statistics(chosen, NAME, channels=3)
    arrays = packed(NAME, reading)
    if arrays is not None:
        classes = [str(k) for k in range(200)]
        return published_source(NAME, classes, arrays, values, flips=True)
    store, root, names, where = _files(reading)
    synsets = sorted(_text(store, f"{root}wnids.txt", where).split())
    number = {synset: k for k, synset in enumerate(synsets)}
    side = options.image_size or SIDE
    album = published_album(
        {
            "train": _train(store, root, names, number, where),
            "test": _test(store, root, number, where),
        },
        (3, side, side),
        reading,
    )
    known = f"{root}words.txt"
    labels = words_in(_text(store, known, where)) if known in names else {}
    return Source(
        name=NAME,
        classes=named(synsets, labels),
        train=album.pools["train"],
        test=album.pools["test"],
        mean=values[0],
        std=values[1],
        remarks=album.remarks,
    )


def _files(reading: Reading) -> tuple[Store, str, list[str], Path]:
    """A store, the path of the set in it, and the names of all its files."""
    folders = places(NAME, reading)
    path = first_there(folders, [FOLDER, f"{FOLDER}.zip"])
    if path is None and (folders[0] / "wnids.txt").is_file():
        path = folders[0]
    if path is None:
        raise missing(NAME, reading, f"{NAME}/{FOLDER}.zip")
    if path.is_dir():
        names = [file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()]
        return FolderStore(path), "", sorted(names), path
    store = ZipStore.at(path, most_bytes=2 * GIGABYTE)
    return store, f"{FOLDER}/", sorted(store.names()), path


def _train(
    store: Store, root: str, names: list[str], number: dict[str, int], where: Path
) -> Listing:
    start = f"{root}train/"
    found, labels = [], []
    for name in names:
        if name.startswith(start) and name.endswith(".JPEG"):
            synset = name[len(start) :].partition("/")[0]
            if synset not in number:
                raise BadInput(f"{where}: {name} is of no class in wnids.txt; get the set again.")
            found.append(name)
            labels.append(number[synset])
    if not found:
        raise BadInput(f"{where} has no pictures in {start}; get the set again.")
    return Listing(store=store, names=np.array(found), labels=np.array(labels, dtype=np.int64))


def _test(store: Store, root: str, number: dict[str, int], where: Path) -> Listing:
    found, labels = [], []
    for line in _text(store, f"{root}val/val_annotations.txt", where).splitlines():
        # File, class, and a box that is not used.
        name, synset = [*line.split("\t"), ""][:2]
        if synset not in number:
            raise BadInput(
                f"{where}: val_annotations.txt gives {name!r} the class {synset!r}, which wnids.txt"
                " has not; get the set again."
            )
        found.append(f"{root}val/images/{name}")
        labels.append(number[synset])
    return Listing(store=store, names=np.array(found), labels=np.array(labels, dtype=np.int64))


def _text(store: Store, name: str, where: Path) -> str:
    try:
        with store.open(name) as file:
            return file.read().decode()
    except (OSError, KeyError):
        raise BadInput(f"{where} has no file {name}; get the set again.") from None
