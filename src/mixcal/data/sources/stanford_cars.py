"""Stanford Cars (Krause et al., ICCV workshops 2013): 196 makes and models of cars.

8,144 + 8,041 pictures, in either of the layouts their authors published: cars_train, cars_test and
the development kit with cars_meta.mat (the answers of the test, cars_test_annos_withlabels.mat, in
devkit or beside it), or car_ims with cars_annos.mat. Pictures are brought to `image_size`, shorter
side, and cut in the middle; boxes are not read.
"""

from pathlib import Path
from typing import Any

from mixcal.core.errors import BadInput
from mixcal.data.options import DataOptions
from mixcal.data.reading import Reading
from mixcal.data.source import Source
from mixcal.data.sources.finely_labeled import Row, picture_source, root_of
from mixcal.data.sources.matlab import read_mat

NAME = "stanford-cars"
META, TOGETHER = "devkit/cars_meta.mat", "cars_annos.mat"
TRAINING, ANSWERS = "cars_train_annos.mat", "cars_test_annos_withlabels.mat"


def read_cars(options: DataOptions, reading: Reading) -> Source:
    """Cars in the authors' split."""
    root = root_of(NAME, reading, [META, TOGETHER], "stanford_cars")
    if (root / META).is_file():
        (names,) = read_mat(root / META, ["class_names"], squeeze=True)
        rows = {
            "train": _rows(_annotations(root, TRAINING), "cars_train"),
            "test": _rows(_annotations(root, ANSWERS), "cars_test"),
        }
    else:
        (names,) = read_mat(root / TOGETHER, ["class_names"], squeeze=True)
        rows = _both(root / TOGETHER)
    classes = tuple(str(name) for name in names)
    return picture_source(NAME, classes, root, rows, options, reading)


def _annotations(root: Path, name: str) -> Path:
    for place in (root / "devkit" / name, root / name):
        if place.is_file():
            return place
    raise BadInput(
        f"{root / 'devkit'} has no {name}; get it where `mixcal data fetch {NAME}` says, and put "
        "it there."
    )


def _rows(path: Path, folder: str) -> list[Row]:
    """The pictures of one part; classes are counted from 1."""
    return [
        (f"{folder}/{row['fname']}", int(row["class"]) - 1)
        for row in _records(path, ("fname", "class"))
    ]


def _both(path: Path) -> dict[str, list[Row]]:
    """The pictures of both parts out of one file."""
    rows: dict[str, list[Row]] = {"train": [], "test": []}
    for row in _records(path, ("relative_im_path", "class", "test")):
        part = "test" if int(row["test"]) else "train"
        rows[part].append((str(row["relative_im_path"]), int(row["class"]) - 1))
    return rows


def _records(path: Path, wanted: tuple[str, ...]) -> Any:
    (records,) = read_mat(path, ["annotations"], squeeze=True)
    names = records.dtype.names or ()
    for name in wanted:
        if name not in names:
            raise BadInput(f"{path}: its annotations have no field {name}; get it again.")
    return records.reshape(-1)
