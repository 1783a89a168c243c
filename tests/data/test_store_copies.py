"""Copies of a store against the store itself."""

from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.store_copies import linked_copy
from tests.support.mixed import noise_store


def test_a_copy_is_the_store_without_its_annotation(tmp_path: Path) -> None:
    store = noise_store(tmp_path / "store")
    copy = linked_copy(store, tmp_path / "copy")
    assert copy.annotation() is None
    assert {k: v for k, v in store.header.items() if k != "annotation"} == copy.header
    for name in ("images", "pairs", "seeds", "done", "positions"):
        ours, theirs = ((made.path / f"{name}.npy").read_bytes() for made in (copy, store))
        assert ours == theirs
    again = linked_copy(store, tmp_path / "copy")
    assert np.array_equal(again.images, store.images)


def test_annotating_the_copy_leaves_the_store_alone(tmp_path: Path) -> None:
    store = noise_store(tmp_path / "store")
    before = store.annotation()
    copy = linked_copy(store, tmp_path / "copy")
    zeros = np.zeros((12, 8), dtype=np.float32)
    record = {"encoder": "other", "prototypes": "p", "splits": "s0", "rule": "direct", "scale": 1}
    copy.annotate(zeros, zeros, record)
    after = store.annotation()
    assert before is not None
    assert after is not None
    assert np.array_equal(before.weights, after.weights)


def test_other_folders_are_refused(tmp_path: Path) -> None:
    store = noise_store(tmp_path / "store")
    other = noise_store(tmp_path / "other", sets=3)
    with pytest.raises(BadInput, match="a store of other sets"):
        linked_copy(store, other.path)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.txt").write_text("dear")
    with pytest.raises(BadInput, match="is no store"):
        linked_copy(store, tmp_path / "letters")
