"""A store read back against what was written into it, whole, killed half way, and damaged."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.mixed_store import MixedStore

HEADER = {
    "classes": ["cat", "dog", "fox"],
    "generator": "g0",
    "sampler_steps": 20,
    "guidance": 0.0,
    "splits": "s0",
}
RECORD = {"encoder": "tiny", "prototypes": "p0", "splits": "s0", "rule": "projected", "scale": 4.0}


def images(index: int, members: int = 4) -> np.ndarray:
    return np.random.default_rng(index).integers(0, 256, (members, 5, 6, 3), dtype=np.uint8)


def fresh(path: Path, sets: int = 5, written: int = 5) -> MixedStore:
    store = MixedStore.create(path, HEADER, sets=sets, members=4, shape=(5, 6, 3))
    for index in range(written):
        store.write_set(index, images(index), 100 + index, [(0, 1), (0, 2), (1, 2)][index % 3])
    return store


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    fresh(tmp_path / "store")
    store = MixedStore.open(tmp_path / "store")
    assert store.classes == ("cat", "dog", "fox")
    assert len(store) == 5
    assert store.complete()
    assert store.positions.tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1])
    for index in range(5):
        assert np.array_equal(store.images[index], images(index))
    assert store.seeds.tolist() == [100, 101, 102, 103, 104]
    assert store.pairs.tolist() == [[0, 1], [0, 2], [1, 2], [0, 1], [0, 2]]
    with pytest.raises(ValueError, match="read-only"):
        store.images[0] = 0


def test_files_are_plain_arrays_that_need_no_pickle(tmp_path: Path) -> None:
    fresh(tmp_path)
    for name in ("images", "seeds", "pairs", "positions", "done"):
        np.load(tmp_path / f"{name}.npy", allow_pickle=False)
    assert {path.suffix for path in tmp_path.iterdir()} == {".npy", ".json"}


def test_sets_may_be_written_in_any_order_by_several_writers(tmp_path: Path) -> None:
    ours = fresh(tmp_path, sets=6, written=0)
    theirs = MixedStore.open(tmp_path, "r+")
    ours.write_sets([5, 1], np.stack([images(5), images(1)]), [105, 101], [(1, 2), (0, 2)])
    theirs.write_set(3, images(3), 103, (0, 1))
    found = MixedStore.open(tmp_path)
    assert found.missing().tolist() == [0, 2, 4]
    assert not found.complete()
    for index in (5, 1, 3):
        assert np.array_equal(found.images[index], images(index))


KILLED = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from tests.data.test_mixed_store import MixedStore, images
store = MixedStore.open(Path({path!r}), "r+")
for index in range(10_000):
    store.write_set(index, images(index), index, (0, 1))
    print(index, flush=True)
"""


def test_a_killed_writer_leaves_no_half_set(tmp_path: Path) -> None:
    fresh(tmp_path, sets=10_000, written=0)
    root = Path(__file__).parents[2]
    script = KILLED.format(tests=str(root), path=str(tmp_path))
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(30):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    store = MixedStore.open(tmp_path)
    done = np.flatnonzero(store.done)
    assert 30 <= len(done) < 10_000
    assert store.missing()[0] == len(done)
    for index in done:
        assert np.array_equal(store.images[index], images(int(index)))


def test_annotations_replace_each_other(tmp_path: Path) -> None:
    store = fresh(tmp_path)
    assert store.annotation() is None
    first, second = np.random.default_rng(0).random((2, 5, 4))
    store.annotate(first, 1 - first, RECORD)
    shares = np.full((5, 4, 3), 1 / 3)
    store = store.annotate(second, 1 - second, {**RECORD, "encoder": "other"}, targets=shares)
    found = store.annotation()
    assert found is not None
    assert found.record["encoder"] == "other"
    assert np.array_equal(found.projections, second.astype(np.float32))
    assert np.array_equal(found.weights, (1 - second).astype(np.float32))
    assert found.targets is not None
    assert np.array_equal(found.targets, shares.astype(np.float32))
    assert store.header["generator"] == "g0"


def test_annotations_of_another_store_are_refused(tmp_path: Path) -> None:
    store = fresh(tmp_path)
    store = store.annotate(np.zeros((5, 4)), np.zeros((5, 4)), RECORD)
    np.save(tmp_path / "weights.npy", np.ones((5, 4), np.float32))
    with pytest.raises(BadInput, match=r"weights\.npy is not what the header describes"):
        MixedStore.open(tmp_path).annotation()


def test_annotations_must_be_finite_where_a_set_is_done(tmp_path: Path) -> None:
    store = fresh(tmp_path, sets=5, written=3)
    values = np.zeros((5, 4))
    values[4] = np.nan
    assert store.annotate(values, values, RECORD).annotation() is not None
    values[0, 0] = np.nan
    with pytest.raises(ValueError, match="finite"):
        store.annotate(values, values, RECORD)


@pytest.mark.parametrize("wrong", ["projections", "weights", "targets", "shape"])
def test_an_annotation_that_is_refused_leaves_the_one_before(tmp_path: Path, wrong: str) -> None:
    kept = np.random.default_rng(0).random((5, 4)).astype(np.float32)
    store = fresh(tmp_path).annotate(kept, 1 - kept, RECORD)
    values = {"projections": kept + 1, "weights": kept / 2, "targets": np.full((5, 4, 3), 1 / 3)}
    if wrong == "shape":
        values["targets"] = np.full((5, 4, 2), 1 / 2)
    else:
        values[wrong] = values[wrong] * np.nan
    with pytest.raises(ValueError, match=f"{'targets' if wrong == 'shape' else wrong}.npy: one"):
        store.annotate(values["projections"], values["weights"], RECORD, targets=values["targets"])
    found = MixedStore.open(tmp_path).annotation()
    assert found is not None
    assert np.array_equal(found.projections, kept)
    assert np.array_equal(found.weights, 1 - kept)


def test_no_room_for_an_annotation_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = np.zeros((5, 4), dtype=np.float32)
    store = fresh(tmp_path).annotate(kept, kept, RECORD)
    save = np.save

    def full(file, array, **more) -> None:
        if array.any():
            raise OSError(28, "No space left on device")
        save(file, array, **more)

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OSError, match="No space"):
        store.annotate(kept, kept + 1, RECORD)
    assert MixedStore.open(tmp_path).annotation() is not None
    assert not list(tmp_path.glob(".*"))


def test_a_store_is_never_overwritten(tmp_path: Path) -> None:
    fresh(tmp_path)
    with pytest.raises(BadInput, match="is a store already"):
        fresh(tmp_path)


@pytest.mark.parametrize("pair", [(1, 0), (1, 1), (0, 3), (-1, 0)])
def test_pairs_are_ascending_classes(tmp_path: Path, pair: tuple[int, int]) -> None:
    store = fresh(tmp_path, written=0)
    with pytest.raises(ValueError, match="no pair"):
        store.write_set(0, images(0), 0, pair)
    assert not store.done.any()


def changed(path: Path, **changes: object) -> None:
    header = json.loads((path / "header.json").read_text()) | changes
    (path / "header.json").write_text(json.dumps({k: v for k, v in header.items() if v != "gone"}))


DAMAGE = {
    "header.json": lambda p: (p / "header.json").write_text("{"),
    "header.json is not the header": lambda p: changed(p, format=2),
    "does not say 'classes'": lambda p: changed(p, classes="gone"),
    "must be whole numbers": lambda p: changed(p, sets=2.5),
    "images.npy holds": lambda p: changed(p, shape=[6, 5, 3]),
    "images.npy cannot be read": lambda p: os.truncate(p / "images.npy", 200),
    "seeds.npy is missing": lambda p: (p / "seeds.npy").unlink(),
    "pairs.npy cannot be read": lambda p: (p / "pairs.npy").write_bytes(b"no array"),
    "done.npy holds": lambda p: np.save(p / "done.npy", np.ones(5, np.uint8)),
    "no store of mixed images": lambda p: (p / "header.json").unlink(),
}


@pytest.mark.parametrize("message", DAMAGE)
def test_damage_is_one_sentence_that_names_the_file(tmp_path: Path, message: str) -> None:
    fresh(tmp_path)
    DAMAGE[message](tmp_path)
    with pytest.raises(BadInput, match=message.replace(".", r"\.")) as caught:
        MixedStore.open(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_a_pickle_in_place_of_an_array_is_not_run(tmp_path: Path) -> None:
    fresh(tmp_path)
    np.save(tmp_path / "seeds.npy", np.array([print] * 5, dtype=object), allow_pickle=True)
    with pytest.raises(BadInput, match=r"seeds\.npy cannot be read"):
        MixedStore.open(tmp_path)
