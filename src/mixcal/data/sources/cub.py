"""Caltech-UCSD Birds-200-2011 (Wah et al., Caltech CNS-TR-2011-001): 200 kinds of birds.

5,994 + 5,794 pictures, as CUB_200_2011.tgz unpacks: images.txt, image_class_labels.txt,
train_test_split.txt, classes.txt and images/. Pictures are brought to `image_size`, shorter side,
and cut in the middle; boxes, parts and attributes are not read.
"""

from pathlib import Path

from mixcal.core.errors import BadInput
from mixcal.data.options import DataOptions
from mixcal.data.reading import Reading
from mixcal.data.source import Source
from mixcal.data.sources.finely_labeled import Row, picture_source, root_of

NAME = "cub-200-2011"


def read_cub(options: DataOptions, reading: Reading) -> Source:
    """Birds in the authors' split."""
    root = root_of(NAME, reading, ["images.txt"], "CUB_200_2011")
    names = _lines(root / "classes.txt")
    numbers = {number: place for place, number in enumerate(sorted(names, key=int))}
    classes = tuple(_readable(names[number]) for number in numbers)
    labels, training = (
        _lines(root / "image_class_labels.txt"),
        _lines(root / "train_test_split.txt"),
    )
    rows: dict[str, list[Row]] = {"train": [], "test": []}
    for number, file in _lines(root / "images.txt").items():
        label = numbers.get(labels.get(number, ""))
        part = {"1": "train", "0": "test"}.get(training.get(number, ""))
        if label is None or part is None:
            raise BadInput(
                f"{root}: picture {number} ({file}) has no known class or no part; unpack it again."
            )
        rows[part].append((f"images/{file}", label))
    return picture_source(NAME, classes, root, rows, options, reading)


def _lines(path: Path) -> dict[str, str]:
    """The lines of a file, each a number, a blank and a value."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read ({error}); unpack {NAME} again.") from None
    found = {}
    for place, line in enumerate(lines, start=1):
        number, _, value = line.strip().partition(" ")
        if not number.isdecimal() or not value:
            raise BadInput(f"{path}, line {place}: {line!r} is no number and a value.")
        found[number] = value
    return found


def _readable(name: str) -> str:
    """ "Black footed Albatross" of "001.Black_footed_Albatross"."""
    return name.partition(".")[2].replace("_", " ") or name
