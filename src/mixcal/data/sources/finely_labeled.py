"""What the published sets of birds and of cars share: pictures of many sizes in named files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mixcal.core.errors import BadInput
from mixcal.data.archives import FolderStore
from mixcal.data.options import DataOptions
from mixcal.data.pictures import USUAL, Listing, published_album
from mixcal.data.reading import Reading
from mixcal.data.source import Source
from mixcal.data.sources.variant import statistics, words

# A picture's name below the root, and its class.
Row = tuple[str, int]
NO_SIZE = (
    f"method.data.image_size is not set; pictures are brought to {USUAL} x {USUAL} (published "
    "numbers use 300)."
)


def root_of(name: str, reading: Reading, marks: Sequence[str], folder: str) -> Path:
    """Where the set was unpacked: the first place that has one of these files."""
    tried = [reading.folder / name / folder, reading.folder / name, reading.folder / folder]
    for place in tried:
        if any((place / mark).is_file() for mark in marks):
            return place
    raise BadInput(
        f"{name} is not in {reading.folder} (looked for {name}/{folder}/{marks[0]}); it cannot be "
        f"fetched: `mixcal data fetch {name}` says how to get it."
    )


def picture_source(
    name: str,
    classes: tuple[str, ...],
    root: Path,
    rows: Mapping[str, Sequence[Row]],
    options: DataOptions,
    reading: Reading,
) -> Source:
    """The source; `rows` are those of "train" and "test"."""
    chosen = words(options)
    listings = {split: _listing(name, classes, root, split, rows[split]) for split in rows}
    side = options.image_size or USUAL
    album = published_album(listings, (3, side, side), reading)
    # Their networks come with weights from ImageNet, whose statistics go with them.
    mean, std = statistics(chosen, "imagenet", channels=3)
    return Source(
        name=name,
        classes=classes,
        train=album.pools["train"],
        test=album.pools["test"],
        mean=mean,
        std=std,
        remarks=(*album.remarks, *(() if options.image_size else (NO_SIZE,))),
    )


def _listing(
    name: str, classes: tuple[str, ...], root: Path, split: str, rows: Sequence[Row]
) -> Listing:
    if not rows:
        raise BadInput(f"{root}: {name} lists no {split} pictures; unpack it again.")
    for file, label in rows:
        if not 0 <= label < len(classes):
            raise BadInput(
                f"{root}: {file} has class {label + 1} of {len(classes)}; unpack {name} again."
            )
        if not (root / file).is_file():
            raise BadInput(f"{root} has no file {file}, which {name} lists; unpack it again.")
    return Listing(
        store=FolderStore(root),
        names=np.array([file for file, _ in rows], dtype=str),
        labels=np.array([label for _, label in rows], dtype=np.int64),
    )
