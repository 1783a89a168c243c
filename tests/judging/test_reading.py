"""Labels of tables, against what a reader of the table would say."""

from pathlib import Path

import pytest

from mixcal.core.errors import BadInput
from mixcal.judging.reading import read_foreign, read_predictions


def table(folder: Path, columns: str, labels: list[str]) -> Path:
    path = folder / "table.csv"
    path.write_text("\n".join([f"label,{columns}", *(f"{one},0.5,0.3,0.2" for one in labels)]))
    return path


@pytest.mark.parametrize(
    ("columns", "labels", "found"),
    [
        ("prob_cat,prob_dog,prob_eel", ["dog", "cat"], [1, 0]),
        ("prob_cat,prob_dog,prob_eel", ["2", "1"], [2, 1]),
        ("prob_2,prob_1,prob_0", ["2", "1"], [0, 1]),
        ("prob_1,prob_2,prob_3", ["3", "1"], [2, 0]),
        ("prob_1,prob_2,prob_3", ["0", "1"], [0, 1]),
    ],
)
def test_names_or_numbers(
    tmp_path: Path, columns: str, labels: list[str], found: list[int]
) -> None:
    assert read_predictions(table(tmp_path, columns, labels)).labels.tolist() == found


@pytest.mark.parametrize(
    ("columns", "labels", "message"),
    [
        ("prob_1,prob_2,prob_3", ["2", "1"], "whether a label is such a name or counts from 0"),
        ("prob_1,prob_2,prob_3", ["0", "3"], "label 3 of row 1 is outside 0 … 2"),
        ("prob_cat,prob_dog,prob_eel", ["dog", "cow"], "label 'cow' of row 1 is none of the"),
        ("prob_cat,prob_dog,prob_eel", ["1", "cow"], "label 'cow' of row 1 is none of the"),
        ("prob_cat,prob_dog,prob_eel", ["dog", "1"], "label '1' of row 1 is none of the"),
        ("prob_0,prob_1,prob_2", ["0", "", "1"], "row 1 has no label"),
        ("prob_cat,prob_dog,prob_eel", ["cat", "", "dog"], "row 1 has no label"),
    ],
)
def test_labels_that_cannot_be_told(
    tmp_path: Path, columns: str, labels: list[str], message: str
) -> None:
    path = table(tmp_path, columns, labels)
    with pytest.raises(BadInput, match=message):
        read_predictions(path)
    assert len(read_foreign(path)) == len(labels)
