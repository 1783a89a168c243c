"""Which mixed images go with which labels: the published scheme as a slow loop, and properties."""

import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.mixed_images import (
    ByClass,
    MixedSets,
    projected_weights,
    sets_by_class,
    soft_images,
    two_hot,
)

PAIRS = np.array([[0, 1], [0, 2], [1, 2], [0, 1]])


def sets(**changes: object) -> MixedSets:
    """Four sets over three classes; in set 2 λ falls the other way round."""
    shares = np.tile(np.linspace(0, 1, 8, dtype=np.float32), (4, 1))
    shares[2] = shares[2, ::-1]
    images = np.arange(4 * 8 * 4, dtype=np.uint8).reshape(4, 8, 2, 2, 1)
    known = {
        "images": images,
        "pairs": PAIRS,
        "order": np.argsort(-shares, axis=1, kind="stable"),
        "distributions": two_hot(PAIRS, shares, 3),
        "by_class": sets_by_class(PAIRS, 3),
        "copies": 3,
    }
    return MixedSets(**(known | changes))


def members(found: np.ndarray, copies: int) -> list[tuple[int, list[int]]]:
    """(set, members) of every label."""
    groups = found.reshape(-1, copies)
    assert all(len(set(group // 8)) == 1 for group in groups), "copies are of one set"
    return [(int(group[0]) // 8, (group % 8).tolist()) for group in groups]


def test_the_scheme_by_the_book() -> None:
    """A set with the class; its end on that side; distinct members of the interior."""
    labels = np.repeat([0, 1, 2], 400)
    drawn = sets().draw(labels, np.random.default_rng(0))
    assert len(drawn) == 3 * len(labels)
    seen: dict[int, Counter] = {0: Counter(), 1: Counter(), 2: Counter()}
    for label, (number, group) in zip(labels, members(drawn, 3), strict=True):
        assert label in PAIRS[number]
        target = sets().distributions[number, group[0]]
        assert target[label] == 1, "the end is all of the label's class"
        inner = group[1:]
        assert len(set(inner)) == 2
        assert set(inner) <= set(range(1, 7))
        seen[label].update([number])
    # Uniformly over the sets with the class.
    assert set(seen[0]) == {0, 1, 3}
    assert set(seen[2]) == {1, 2}
    assert all(100 < count < 170 for count in seen[0].values())
    assert all(160 < count < 240 for count in seen[2].values())


def test_every_interior_member_comes_equally_often() -> None:
    drawn = sets(copies=2).draw(np.zeros(3000, dtype=np.int64), np.random.default_rng(1))
    inner = Counter(drawn.reshape(-1, 2)[:, 1] % 8)
    assert set(inner) == set(range(1, 7))
    assert all(430 < count < 570 for count in inner.values())


def test_one_copy_alone() -> None:
    labels = np.array([0, 1, 2] * 50)
    interior = sets(copies=1).draw(labels, np.random.default_rng(2))
    assert set(interior % 8) == set(range(1, 7))
    ends = sets(copies=1, n1="endpoint").draw(labels, np.random.default_rng(2))
    for label, row in zip(labels, ends, strict=True):
        assert sets().distributions[row // 8, row % 8, label] == 1


def test_the_end_is_where_lambda_is_and_not_where_it_was_asked_for() -> None:
    shares = np.tile(np.linspace(0, 1, 8, dtype=np.float32), (4, 1))
    shares[:, [6, 7]] = shares[:, [7, 6]]
    order = np.argsort(-shares, axis=1, kind="stable")
    drawn = sets(copies=1, n1="endpoint", order=order).draw(
        np.zeros(20, dtype=np.int64), np.random.default_rng(0)
    )
    assert set(drawn % 8) == {6}


def test_one_hot_copies_are_pure_and_of_sets_of_their_own() -> None:
    labels = np.array([1] * 200)
    drawn = sets(ends=True).draw(labels, np.random.default_rng(3))
    assert len(drawn) == 600
    assert (sets().targets(drawn)[:, 1] == 1).all()
    assert len(set(drawn.reshape(-1, 3)[0] // 8) | set(drawn.reshape(-1, 3)[1] // 8)) > 1


def test_uniform_pairing_pays_no_regard_to_labels() -> None:
    mixed = sets(copies=2, pairing="uniform")
    one, other = (mixed.draw(np.full(500, label), np.random.default_rng(4)) for label in (0, 2))
    assert np.array_equal(one, other)
    assert set(one // 8) == {0, 1, 2, 3}
    assert set(one % 8) == set(range(8))
    assert all(len(set(pair)) == 2 for pair in one.reshape(-1, 2))


def test_one_hot_stays_one_hot_where_pairing_is_uniform() -> None:
    labels = np.zeros(400, dtype=np.int64)
    mixed = sets(ends=True, pairing="uniform", copies=2)
    drawn = mixed.draw(labels, np.random.default_rng(5))
    assert len(drawn) == 800
    targets = mixed.targets(drawn).numpy()
    assert (targets.max(1) == 1).all()
    # Any set's, and either end of it.
    assert set(zip(drawn // 8, targets.argmax(1), strict=True)) == {
        (number, label) for number, pair in enumerate(PAIRS) for label in pair
    }
    other = mixed.draw(labels + 2, np.random.default_rng(5))
    assert np.array_equal(drawn, other)


def test_images_and_targets_go_together() -> None:
    mixed = sets()
    index = np.array([0, 13, 31])
    raw, targets = mixed.take(index), mixed.targets(index)
    assert raw.shape == (3, 1, 2, 2)
    for row, place in enumerate(index):
        assert np.array_equal(raw[row, 0], mixed.images[place // 8, place % 8, :, :, 0])
        assert targets[row].sum() == pytest.approx(1)
    assert targets[1].tolist() == pytest.approx([5 / 7, 0, 2 / 7])
    assert len(mixed) == 32


def test_colors_are_planes() -> None:
    images = np.random.default_rng(0).integers(0, 256, (4, 8, 2, 2, 3), dtype=np.uint8)
    found = sets(images=images).take(np.array([9])).numpy()
    assert np.array_equal(found[0, 2], images[1, 1, :, :, 2])


def test_lambda_by_hand() -> None:
    found = projected_weights(np.array([0.52, 0.0, 1.0, 0.5]), scale=4.0)
    assert found == pytest.approx([0.519989, 0.119203, 0.880797, 0.5], abs=1e-6)
    assert found.dtype == np.float32


def test_classes_without_rows_are_empty() -> None:
    found = ByClass.of({2: np.array([4, 5])}, 4)
    assert found.counts.tolist() == [0, 0, 2, 0]
    assert set(found.draw(np.full(50, 2), np.random.default_rng(0))) == {4, 5}


def soft(path: Path, **changes: np.ndarray) -> Path:
    targets = np.array([[1, 0, 0], [0.5, 0.5, 0], [0, 0.25, 0.75]], dtype=np.float32)
    known = {"images": np.zeros((3, 4, 4), np.uint8), "targets": targets}
    np.savez(path / "soft.npz", **(known | changes))
    return path / "soft.npz"


def test_images_of_other_origin(tmp_path: Path) -> None:
    images = np.arange(48, dtype=np.uint8).reshape(3, 4, 4)
    mixed = soft_images(soft(tmp_path, images=images), classes=3, copies=2, pairing="class_matched")
    labels = np.array([0] * 100 + [1] * 100 + [2] * 100)
    drawn = mixed.draw(labels, np.random.default_rng(0)).reshape(3, 200)
    assert [set(row) for row in drawn] == [{0, 1}, {1, 2}, {2}]
    assert np.array_equal(mixed.take(np.array([2]))[0, 0], images[2])
    assert mixed.targets(np.array([2]))[0].tolist() == [0, 0.25, 0.75]
    free = soft_images(soft(tmp_path), classes=3, copies=1, pairing="uniform")
    assert set(free.draw(labels, np.random.default_rng(0))) == {0, 1, 2}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": np.zeros((3, 4, 4))}, "`images` is float64"),
        ({"images": np.zeros((0, 4, 4), np.uint8)}, "`images` is uint8"),
        ({"targets": np.ones((3, 4)) / 4}, r"`targets` is float64 \(3, 4\)"),
        ({"targets": np.ones((3, 3))}, "must be a distribution"),
        ({"targets": np.array([[2, -1, 0]] * 3)}, "must be a distribution"),
        ({"targets": np.array([{}] * 3)}, "never loaded"),
        ({"targets": np.array([["a", "b", "c"]] * 3)}, "`targets` is <U1"),
        ({"targets": np.eye(3).astype(complex)}, "`targets` is complex128"),
        ({"targets": np.full((3, 3), np.nan)}, "must be a distribution"),
    ],
)
def test_wrong_files_are_one_sentence(tmp_path: Path, changes: dict, message: str) -> None:
    path = soft(tmp_path, **changes)
    with pytest.raises(BadInput, match=message):
        soft_images(path, classes=3, copies=1, pairing="uniform")


def test_missing_arrays_and_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", images=np.zeros((1, 2, 2), np.uint8))
    with pytest.raises(BadInput, match="targets"):
        soft_images(tmp_path / "x.npz", classes=3, copies=1, pairing="uniform")
    with pytest.raises(BadInput, match="There is no file"):
        soft_images(tmp_path / "y.npz", classes=3, copies=1, pairing="uniform")


def flipped(raw: bytes, place: int, bits: int) -> bytes:
    return raw[:place] + bytes([raw[place] ^ bits]) + raw[place + 1 :]


DAMAGE = {
    "nothing": lambda raw: b"",
    "garbage": lambda raw: b"no archive" * 50,
    "a pickle": lambda raw: pickle.dumps([1]),
    "half of it": lambda raw: raw[: len(raw) // 2],
    "a flipped bit": lambda raw: flipped(raw, 190, 4),
    "a lock": lambda raw: flipped(raw, raw.index(b"PK\x01\x02") + 8, 1),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_are_one_sentence(tmp_path: Path, damage: str) -> None:
    path = soft(tmp_path)
    changed = DAMAGE[damage](path.read_bytes())
    assert changed != path.read_bytes()
    path.write_bytes(changed)
    with pytest.raises(BadInput, match=r"soft\.npz"):
        soft_images(path, classes=3, copies=1, pairing="uniform")


def test_one_array_under_the_name_of_many(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.zeros((3, 4, 4), np.uint8))
    (tmp_path / "one.npy").rename(tmp_path / "one.npz")
    with pytest.raises(BadInput, match=r"one\.npz is one array, not a \.npz"):
        soft_images(tmp_path / "one.npz", classes=3, copies=1, pairing="uniform")
