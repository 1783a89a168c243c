"""ImageNet, ILSVRC 2012 (Russakovsky et al. 2015; arXiv:1409.0575v3): 1,000 classes.

train/WNID/*.JPEG as unpacked from the published archives, and val/ either as class folders too or
flat with the development kit's ground truth. The official validation set is the test set. Classes
are in the order of their WordNet numbers, which is the usual one.
"""

from pathlib import Path

import numpy as np

from mixcal.core.errors import BadInput
from mixcal.data.archives import FolderStore
from mixcal.data.options import DataOptions
from mixcal.data.pictures import USUAL, Listing, published_album
from mixcal.data.reading import Reading
from mixcal.data.source import Source
from mixcal.data.sources.matlab import read_mat
from mixcal.data.sources.synsets import named, words_in
from mixcal.data.sources.variant import statistics, words

NAME = "imagenet"
TRUTH = "ILSVRC2012_validation_ground_truth.txt"
DEVKITS = ("ILSVRC2012_devkit_t12/data", "devkit/data", ".")
NO_SIZE = (
    f"method.data.image_size is not set; pictures are brought to {USUAL} x {USUAL} (published "
    "numbers use 256)."
)


def read_imagenet(options: DataOptions, reading: Reading) -> Source:
    """ImageNet; pictures are brought to `image_size`, shorter side, and cut in the middle."""
    chosen = words(options)
    root = reading.folder / NAME
    if not (root / "train").is_dir():
        raise BadInput(
            f"{NAME} is not in {reading.folder} (looked for {NAME}/train/n01440764 and the like); "
            "it cannot be fetched: `mixcal data fetch imagenet` says how to get it."
        )
    synsets = sorted(entry.name for entry in (root / "train").iterdir() if entry.is_dir())
    side = options.image_size or USUAL
    identifiers = _identifiers(root)
    listings = {
        "train": in_class_folders(root, "train", synsets),
        "test": _validation(root, synsets, identifiers),
    }
    album = published_album(listings, (3, side, side), reading)
    mean, std = statistics(chosen, NAME, channels=3)
    known = {synset: text for synset, text in identifiers.values()}
    mapping = root / "LOC_synset_mapping.txt"
    if not known and mapping.is_file():
        known = words_in(mapping.read_text())
    return Source(
        name=NAME,
        classes=named(synsets, known),
        train=album.pools["train"],
        test=album.pools["test"],
        mean=mean,
        std=std,
        remarks=(*album.remarks, *(() if options.image_size else (NO_SIZE,))),
    )


def in_class_folders(root: Path, part: str, synsets: list[str]) -> Listing:
    """All pictures in the class folders of one part."""
    names, labels = [], []
    for k, synset in enumerate(synsets):
        folder = root / part / synset
        if not folder.is_dir():
            raise BadInput(f"{root / part} has no folder {synset}; unpack that class.")
        files = sorted(entry.name for entry in folder.iterdir() if entry.suffix == ".JPEG")
        if not files:
            raise BadInput(f"{folder} has no .JPEG pictures; unpack that class.")
        names += [f"{part}/{synset}/{name}" for name in files]
        labels += [k] * len(files)
    if len(synsets) < 2:
        raise BadInput(f"{root / part} has {len(synsets)} class folders; a classifier needs two.")
    return Listing(
        store=FolderStore(root), names=np.array(names), labels=np.array(labels, dtype=np.int64)
    )


def _validation(root: Path, synsets: list[str], identifiers: dict[int, tuple[str, str]]) -> Listing:
    """The validation pictures, in class folders or flat."""
    if not (root / "val").is_dir():
        raise BadInput(f"{root} has no folder val; unpack the validation pictures there.")
    files = sorted(entry.name for entry in (root / "val").iterdir() if entry.suffix == ".JPEG")
    if not files:
        return in_class_folders(root, "val", synsets)
    truth = _devkit_file(root, TRUTH)
    if truth is None or not identifiers:
        raise BadInput(
            f"{root / 'val'} is flat, so its labels are in the development kit: unpack "
            f"ILSVRC2012_devkit_t12.tar.gz into {root}."
        )
    answers = [int(line) for line in truth.read_text().split()]
    if len(answers) != len(files):
        raise BadInput(
            f"{truth} has {len(answers):,} labels for {len(files):,} pictures in {root / 'val'}; "
            "unpack both again."
        )
    number = {synset: k for k, synset in enumerate(synsets)}
    labels = []
    for answer in answers:
        synset = identifiers.get(answer, ("", ""))[0]
        if synset not in number:
            raise BadInput(f"{truth}: class {answer} has no folder in {root / 'train'}.")
        labels.append(number[synset])
    return Listing(
        store=FolderStore(root),
        names=np.array([f"val/{name}" for name in files]),
        labels=np.array(labels, dtype=np.int64),
    )


def _identifiers(root: Path) -> dict[int, tuple[str, str]]:
    """The development kit's class numbers, each with its synset and words; empty if not there."""
    path = _devkit_file(root, "meta.mat")
    if path is None:
        return {}
    (rows,) = read_mat(path, ["synsets"], squeeze=True)
    try:
        return {
            int(row["ILSVRC2012_ID"]): (str(row["WNID"]), str(row["words"]))
            for row in rows
            if int(row["num_children"]) == 0
        }
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise BadInput(f"{path} holds no classes ({error}); unpack the kit again.") from None


def _devkit_file(root: Path, name: str) -> Path | None:
    return next((root / kit / name for kit in DEVKITS if (root / kit / name).is_file()), None)
