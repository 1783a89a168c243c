"""WebVision 1.0 (Li et al. 2017; arXiv:1708.02862v1): 2.4 million web images of ImageNet's classes.

info/train_filelist_google.txt and _flickr.txt name the training pictures and their noisy labels,
info/val_filelist.txt those of val_images_256/, which are the test set here. `variant = "google"`
leaves the Flickr part out.
"""

from pathlib import Path

import numpy as np

from mixcal.core.errors import BadInput
from mixcal.data.archives import FolderStore
from mixcal.data.options import DataOptions
from mixcal.data.pictures import USUAL, Listing, published_album
from mixcal.data.reading import Reading
from mixcal.data.source import Source
from mixcal.data.sources.imagenet import NO_SIZE
from mixcal.data.sources.synsets import named, words_in
from mixcal.data.sources.variant import statistics, words

NAME = "webvision"


def read_webvision(options: DataOptions, reading: Reading) -> Source:
    """WebVision; pictures are brought to `image_size`, shorter side, and cut in the middle."""
    chosen = words(options, ["google"])
    root = reading.folder / NAME
    if not (root / "info").is_dir():
        raise BadInput(
            f"{NAME} is not in {reading.folder} (looked for {NAME}/info/train_filelist_google.txt);"
            " it cannot be fetched: `mixcal data fetch webvision` says how to get it."
        )
    synsets, known = _synsets(root)
    parts = ("google",) if "google" in chosen else ("google", "flickr")
    listings = {
        "train": _listed(root, [f"train_filelist_{part}.txt" for part in parts], ""),
        "test": _listed(root, ["val_filelist.txt"], "val_images_256/"),
    }
    for folder in (*parts, "val_images_256"):
        if not (root / folder).is_dir():
            raise BadInput(f"{root} has no folder {folder}; unpack those pictures there.")
    count = len(synsets) or 1 + max(int(listing.labels.max()) for listing in listings.values())
    for listing in listings.values():
        if int(listing.labels.max()) >= count or int(listing.labels.min()) < 0:
            worst = int(np.argmax((listing.labels >= count) | (listing.labels < 0)))
            raise BadInput(
                f"{root}: {listing.names[worst]} has the label {listing.labels[worst]}, outside "
                f"the {count} classes; get the info folder again."
            )
    side = options.image_size or USUAL
    album = published_album(listings, (3, side, side), reading)
    mean, std = statistics(chosen, "imagenet", channels=3)
    return Source(
        name=NAME,
        classes=named(synsets, known) if synsets else tuple(str(k) for k in range(count)),
        train=album.pools["train"],
        test=album.pools["test"],
        mean=mean,
        std=std,
        remarks=(*album.remarks, *(() if options.image_size else (NO_SIZE,))),
    )


def _synsets(root: Path) -> tuple[list[str], dict[str, str]]:
    """Synsets in the order of their labels, and their words."""
    path = root / "info" / "synsets.txt"
    if not path.is_file():
        return [], {}
    text = path.read_text()
    return [line.split()[0] for line in text.splitlines() if line.strip()], words_in(text)


def _listed(root: Path, files: list[str], below: str) -> Listing:
    """The pictures in these lists: lines of a path and a label."""
    names, labels = [], []
    for file in files:
        path = root / "info" / file
        if not path.is_file():
            raise BadInput(f"{root} has no info/{file}; unpack info.tar there.")
        for place, line in enumerate(path.read_text().splitlines(), start=1):
            name, _, label = line.strip().rpartition(" ")
            if not name or not label.isdigit():
                raise BadInput(f"{path}, line {place}: {line!r} is no path and label.")
            names.append(below + name)
            labels.append(int(label))
    return Listing(
        store=FolderStore(root), names=np.array(names), labels=np.array(labels, dtype=np.int64)
    )
