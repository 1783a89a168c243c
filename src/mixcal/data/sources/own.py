"""What a person's own pictures have in common, whether folders or a manifest name them."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from mixcal.core.errors import BadInput
from mixcal.data.decoding import SUFFIXES
from mixcal.data.options import DataOptions
from mixcal.data.pictures import Listing, own_album
from mixcal.data.reading import Reading
from mixcal.data.source import Source
from mixcal.data.sources.arrays import NO_TEST
from mixcal.data.sources.variant import statistics, words


def own_source(
    name: str,
    classes: tuple[str, ...],
    listings: Mapping[str, Listing],
    options: DataOptions,
    reading: Reading,
    remarks: Iterable[str] = (),
) -> Source:
    """A person's pictures as a source: "train", perhaps "validation" and "test"."""
    if len(classes) < 2:
        raise BadInput(
            f"{name} has {len(classes)} classes with labeled pictures; a classifier needs two."
        )
    chosen = words(options, ["gray", "color"])
    if {"gray", "color"} <= chosen:
        raise BadInput("method.data.variant says both gray and color; choose one.")
    color = None if not chosen & {"gray", "color"} else "color" in chosen
    album = own_album(listings, options, reading, color=color)
    labels = album.pools["train"].labels
    counts = np.bincount(labels[labels >= 0], minlength=len(classes))
    if not counts.all():
        raise BadInput(
            f"{name}: class {classes[int(np.argmin(counts))]!r} has no labeled training picture "
            "that can be read; add some, or leave the class out."
        )
    mean, std = statistics(chosen, None, channels=album.shape[0])
    test = album.pools.get("test")
    return Source(
        name=name,
        classes=classes,
        train=album.pools["train"],
        test=test,
        validation=album.pools.get("validation"),
        mean=mean,
        std=std,
        own=True,
        remarks=(*remarks, *album.remarks, *(() if test is not None else (NO_TEST,))),
    )


def class_order(names: Iterable[str]) -> tuple[str, ...]:
    """Class names in order: as numbers if all of them are, else by the alphabet."""
    distinct = set(names)
    if all(name.isdecimal() for name in distinct):
        return tuple(sorted(distinct, key=lambda name: (int(name), name)))
    return tuple(sorted(distinct))


def pictures_below(folder: Path) -> tuple[list[Path], list[Path]]:
    """All files in a folder and below that are pictures by their names, and all others.

    Hidden files and folders, and what macOS leaves in archives, do not count.
    """
    pictures: list[Path] = []
    others: list[Path] = []
    for above, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _hidden(name))
        for name in sorted(files):
            if _hidden(name):
                continue
            kind = pictures if name.lower().endswith(SUFFIXES) else others
            kind.append(Path(above) / name)
    return pictures, others


def folders_in(folder: Path) -> list[str]:
    """The names of the folders in a folder, hidden ones left out."""
    return sorted(
        entry.name for entry in folder.iterdir() if entry.is_dir() and not _hidden(entry.name)
    )


def name_below(path: Path, root: Path) -> str:
    """How a file is called in a run: by its path below the data's folder if it lies there."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _hidden(name: str) -> bool:
    return name.startswith(".") or name in ("__MACOSX", "Thumbs.db", "desktop.ini")
