"""A person's own folder: one folder of pictures a class, perhaps one of unlabeled pictures.

    DATA/cats/… DATA/dogs/… DATA/unlabeled/…
    DATA/train/cats/… DATA/validation/cats/… DATA/test/cats/… DATA/unlabeled/…

Pictures may lie in subfolders of a class folder. `unlabeled_path` and `test_path` name folders that
lie elsewhere.
"""

from pathlib import Path

import numpy as np

from mixcal.core.errors import BadInput
from mixcal.data.archives import FolderStore
from mixcal.data.options import DataOptions
from mixcal.data.pictures import Listing
from mixcal.data.pool import UNLABELED
from mixcal.data.reading import Reading
from mixcal.data.source import Source
from mixcal.data.sources.own import (
    class_order,
    folders_in,
    name_below,
    own_source,
    pictures_below,
)

UNLABELED_NAMES = ("unlabeled", "unlabelled")
VALIDATION_NAMES = ("validation", "valid", "val")
Labeled = list[tuple[Path, int]]


def read_folder(options: DataOptions, reading: Reading) -> Source:
    """Class folders; hidden files are passed over."""
    root = existing(options.path, "a folder of class folders").resolve()
    nested = (root / "train").is_dir()
    top = root / "train" if nested else root
    classes = class_order(name for name in folders_in(top) if name not in UNLABELED_NAMES)
    if not nested:
        _refuse_splits_without_train(root, classes)
    if not classes:
        raise BadInput(f"{top} has no class folders; put the pictures of each class into one.")
    others: list[Path] = []
    splits = {"train": _in_classes(top, classes, others) + _unlabeled(root, top, options, others)}
    for split, folder in _other_splits(root, options, nested=nested).items():
        splits[split] = _known_classes(folder, classes, others)
    if others and reading.strict:
        raise BadInput(f"{others[0]} is no picture; remove it, or leave out --strict.")
    remarks = []
    if others:
        remarks = [
            f"{len(others):,} files are no pictures by their names and are passed over (like "
            f"{name_below(others[0], root)})."
        ]
    listings = {split: listed(root, found) for split, found in splits.items()}
    return own_source(root.name, classes, listings, options, reading, remarks)


def existing(path: str, what: str) -> Path:
    """The folder of this path."""
    folder = Path(path).expanduser()
    if not path or not folder.is_dir():
        raise BadInput(f"{path or 'method.data.path'} is no folder; give {what}.")
    return folder


def listed(root: Path, found: Labeled) -> Listing:
    """Paths and labels as a listing."""
    return Listing(
        store=FolderStore(root),
        names=np.array([name_below(path, root) for path, _ in found], dtype=str),
        labels=np.array([label for _, label in found], dtype=np.int64),
    )


def _in_classes(top: Path, classes: tuple[str, ...], others: list[Path]) -> Labeled:
    """The pictures of each class that has a folder here; what is no picture goes into `others`."""
    found: Labeled = []
    for label, name in enumerate(classes):
        if not (top / name).is_dir():
            continue
        pictures, more = pictures_below(top / name)
        others += more
        if not pictures:
            raise BadInput(f"{top / name} has no pictures; add some or remove the folder.")
        found += [(path, label) for path in pictures]
    return found


def _known_classes(top: Path, classes: tuple[str, ...], others: list[Path]) -> Labeled:
    for name in folders_in(top):
        if name not in classes:
            raise BadInput(
                f"{top / name} is of no class of the training data ({', '.join(classes[:8])}"
                f"{' …' if len(classes) > 8 else ''}); rename or remove it."
            )
    found = _in_classes(top, classes, others)
    if not found:
        raise BadInput(f"{top} has no class folders; put the pictures of each class into one.")
    return found


def _unlabeled(root: Path, top: Path, options: DataOptions, others: list[Path]) -> Labeled:
    """The pictures of all folders of unlabeled ones."""
    folders = [place / name for place in (root, top) for name in UNLABELED_NAMES]
    folders = [folder for folder in folders if folder.is_dir()]
    if options.unlabeled_path:
        folders.append(existing(options.unlabeled_path, "a folder of pictures"))
    found: Labeled = []
    for folder in dict.fromkeys(folder.resolve() for folder in folders):
        pictures, more = pictures_below(folder)
        others += more
        if not pictures:
            raise BadInput(f"{folder} has no pictures; add some or remove the folder.")
        found += [(path, UNLABELED) for path in pictures]
    return found


def _other_splits(root: Path, options: DataOptions, *, nested: bool) -> dict[str, Path]:
    """The folders of validation and test pictures, where there are any."""
    folders: dict[str, Path] = {}
    if nested:
        for name in VALIDATION_NAMES:
            if (root / name).is_dir():
                folders.setdefault("validation", root / name)
        if (root / "test").is_dir():
            folders["test"] = root / "test"
    if options.test_path:
        folders["test"] = existing(options.test_path, "a folder of class folders").resolve()
    return folders


def _refuse_splits_without_train(root: Path, classes: tuple[str, ...]) -> None:
    for name in classes:
        if name in ("test", *VALIDATION_NAMES):
            raise BadInput(
                f"{root} has a folder {name} but none called train; put the class folders into "
                f"{root / 'train'}, or rename {name} if it is a class."
            )
