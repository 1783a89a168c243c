"""Margins files: what is written comes back, and files that do not fit together are refused."""

from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.core.margins import Margins

COLUMNS = {
    "ids": np.array(["a", "b", "c"]),
    "split": np.array(["labeled", "labeled", "unlabeled"]),
    "label": np.array([0, 1, -1]),
    "margin": np.array([2.0, -1.0, 0.5], dtype=np.float32),
    "visits": np.array([4, 5, 6]),
    "classes": np.array(["cat", "dog"]),
}


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "margins.npz"
    np.savez(path, **COLUMNS)
    found = Margins.load(path)
    found.save(path)
    again = Margins.load(path)
    assert again.hardest("labeled", 5).tolist() == [1, 0]
    assert again.classes == ("cat", "dog")
    assert again.label.tolist() == [0, 1, -1]


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("ids", np.array(["a", "b"])),
        ("margin", np.array([1.0, 2.0])),
        ("visits", np.array([[4], [5], [6]])),
        ("label", np.array([0, 2, 0])),
        ("label", np.array([0, -2, 0])),
        ("label", np.array([0.0, 1, 0])),
        ("margin", np.array(["2", "1", "0"])),
        ("label", None),
    ],
)
def test_a_file_that_does_not_fit_together_is_refused(tmp_path: Path, name: str, column) -> None:
    path = tmp_path / "margins.npz"
    changed = COLUMNS | {name: column}
    np.savez(path, **{key: value for key, value in changed.items() if value is not None})
    with pytest.raises(BadInput, match=r"margins\.npz cannot be read as a margins file .* anew"):
        Margins.load(path)


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "margins.npz"
    for content in (b"", b"PK\x03\x04 and no more", b"text"):
        path.write_bytes(content)
        with pytest.raises(BadInput, match="margins file"):
            Margins.load(path)
