"""Copies of a store against the store itself."""

import multiprocessing
import os
from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.mixed_store import MixedStore
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


def test_two_processes_may_make_one_copy(tmp_path: Path) -> None:
    """Each of them ends with the whole of it, whoever was first."""
    noise_store(tmp_path / "store")
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(3)
    made = [context.Process(target=copies, args=(tmp_path, barrier)) for _ in range(3)]
    for process in made:
        process.start()
    for process in made:
        process.join()
    assert [process.exitcode for process in made] == [0, 0, 0]
    assert not list(tmp_path.glob(".*"))


def copies(folder: Path, barrier) -> None:
    store = MixedStore.open(folder / "store")
    for number in range(40):
        barrier.wait(60)
        assert np.array_equal(linked_copy(store, folder / f"{number}").images, store.images)


def test_one_that_another_made_between_two_looks_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = noise_store(tmp_path / "store")
    looked = Path.exists

    def exists(path: Path) -> bool:
        there = looked(path)
        if path == tmp_path / "copy" / "header.json" and not there:
            monkeypatch.undo()
            linked_copy(store, tmp_path / "copy")
        return there

    monkeypatch.setattr(Path, "exists", exists)
    assert np.array_equal(linked_copy(store, tmp_path / "copy").images, store.images)


def test_a_copy_that_was_stopped_half_way_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = noise_store(tmp_path / "store")

    def stopped(source: Path, target: Path) -> None:
        if source.name == "pairs.npy":
            raise KeyboardInterrupt
        real(source, target)

    real = os.link
    monkeypatch.setattr(os, "link", stopped)
    with pytest.raises(KeyboardInterrupt):
        linked_copy(store, tmp_path / "copy")
    monkeypatch.setattr(os, "link", real)
    assert np.array_equal(linked_copy(store, tmp_path / "copy").pairs, store.pairs)


def test_a_disk_that_cannot_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(source: Path, target: Path) -> None:
        raise OSError(18, "Invalid cross-device link")

    store = noise_store(tmp_path / "store")
    monkeypatch.setattr(os, "link", refused)
    copy = linked_copy(store, tmp_path / "copy")
    assert np.array_equal(copy.images, store.images)
    assert not (copy.path / "images.npy").samefile(store.path / "images.npy")


def test_other_folders_are_refused(tmp_path: Path) -> None:
    store = noise_store(tmp_path / "store")
    other = noise_store(tmp_path / "other", sets=3)
    with pytest.raises(BadInput, match="a store of other sets"):
        linked_copy(store, other.path)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.txt").write_text("dear")
    with pytest.raises(BadInput, match="is no store"):
        linked_copy(store, tmp_path / "letters")
