"""GloVe's text format by hand: wanted words only, odd words, and files that do not fit."""

from pathlib import Path

import numpy as np
import pytest

from mixcal.backbones.word_vectors import read_vectors
from mixcal.core.errors import BadInput


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_wanted_words_only(tmp_path: Path) -> None:
    path = written(tmp_path / "v.txt", "the 1 2\ncaf\xe9 -0.5 1e-1\n. . . 3 4\ncat 5 6\n")
    found = read_vectors(path, ["the", "caf\xe9", ". . .", "dog"], 2)
    assert set(found) == {"the", "caf\xe9", ". . ."}
    assert found["caf\xe9"].tolist() == np.array([-0.5, 0.1], np.float32).tolist()


def test_a_first_line_of_sizes_is_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path / "v.txt", "2 3\nthe 1 2 3\ncat 4 5 6\n")
    assert set(read_vectors(path, ["the"], 3)) == {"the"}


@pytest.mark.parametrize("width", [2, 4])
def test_another_width_is_an_error(tmp_path: Path, width: int) -> None:
    path = written(tmp_path / "v.txt", "the 1 2 3\ncat 4 5 6\n")
    with pytest.raises(BadInput, match="line 1"):
        read_vectors(path, ["the"], width)


def test_what_is_no_number_none_of_the_words_and_no_file(tmp_path: Path) -> None:
    path = written(tmp_path / "v.txt", "the 1 two\n")
    with pytest.raises(BadInput, match="cannot be read"):
        read_vectors(path, ["the"], 2)
    with pytest.raises(BadInput, match="none of the 1 words"):
        read_vectors(path, ["dog"], 2)
    with pytest.raises(BadInput, match="no file"):
        read_vectors(tmp_path / "other.txt", ["the"], 2)
