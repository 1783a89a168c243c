"""A person's own table of pictures: columns path, label (empty: unlabeled) and perhaps split.

CSV or Parquet. Paths are relative to the table's folder, or absolute; split is train (also where it
is empty), validation or test.
"""

from collections.abc import Mapping
from pathlib import Path

from mixcal.core.errors import BadInput
from mixcal.data.options import DataOptions
from mixcal.data.pool import UNLABELED
from mixcal.data.reading import Reading
from mixcal.data.source import Source
from mixcal.data.sources.folder import Labeled, existing, listed
from mixcal.data.sources.own import class_order, own_source, pictures_below
from mixcal.data.tables import Table, read_table

SPLITS = {
    "": "train",
    "train": "train",
    "training": "train",
    "unlabeled": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
}


def read_manifest(options: DataOptions, reading: Reading) -> Source:
    """The pictures a table names; `test_path` is a second table, of test pictures only."""
    path = Path(options.path).expanduser().resolve()
    table = read_table(path)
    labels = table.column("label")
    split = _splits(table)
    train = [row for row, name in enumerate(split) if name == "train"]
    classes = class_order(labels[row] for row in train if labels[row])
    number = {name: place for place, name in enumerate(classes)}
    found: dict[str, Labeled] = {"train": []}
    for row, picture in enumerate(_paths(table)):
        label = _label(table, row, split[row], number)
        found.setdefault(split[row], []).append((picture, label))
    if options.test_path:
        tests = read_table(Path(options.test_path).expanduser().resolve())
        found["test"] = [
            (picture, _label(tests, row, "test", number))
            for row, picture in enumerate(_paths(tests))
        ]
    if options.unlabeled_path:
        folder = existing(options.unlabeled_path, "a folder of pictures").resolve()
        found["train"] += [(picture, UNLABELED) for picture in pictures_below(folder)[0]]
    listings = {name: listed(path.parent, pairs) for name, pairs in found.items() if pairs}
    if "train" not in listings:
        raise BadInput(f"{path} has no training rows; give some the split train, or none.")
    return own_source(path.name, classes, listings, options, reading)


def _splits(table: Table) -> list[str]:
    found = []
    for row, text in enumerate(table.optional("split")):
        split = SPLITS.get(text.lower())
        if split is None:
            raise BadInput(
                f"{table.where(row)}: split is {text!r}; it must be train, validation, test or "
                "empty."
            )
        found.append(split)
    return found


def _label(table: Table, row: int, split: str, number: Mapping[str, int]) -> int:
    label = table.column("label")[row]
    if label in number:
        return number[label]
    if not label and split == "train":
        return UNLABELED
    known = f"{', '.join(list(number)[:8])}{' …' if len(number) > 8 else ''}"
    what = f"label {label!r} lies outside the training classes ({known})" if label else "no label"
    raise BadInput(f"{table.where(row)}: {what}; a {split} picture needs one of them.")


def _paths(table: Table) -> list[Path]:
    """The pictures' paths; every one must be there, once."""
    found: list[Path] = []
    first: dict[str, int] = {}
    lacking = []
    for row, text in enumerate(table.column("path")):
        if not text:
            raise BadInput(f"{table.where(row)}: the path is empty; give one or remove the line.")
        if text in first:
            raise BadInput(
                f"{table.where(row)}: {text} stands in line {table.lines[first[text]]} already; "
                "keep one of the two."
            )
        first[text] = row
        found.append(table.path.parent / Path(text).expanduser())
        if not found[-1].is_file():
            lacking.append(row)
    if lacking:
        text = table.column("path")[lacking[0]]
        more = f" (and {len(lacking) - 1:,} more are missing)" if len(lacking) > 1 else ""
        raise BadInput(
            f"{table.where(lacking[0])}: there is no file {text} in {table.path.parent}{more}; "
            "mend the path."
        )
    return found
