"""Predictions: round trips, and one clear sentence for every kind of nonsense."""

from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions, softmax

LOGITS = np.array([[2.0, 1, 0], [0.5, 1.5, -1], [1, 3, 0]])
LABELS = np.array([0, 1, 2])


def test_softmax_equals_the_formula_and_survives_extremes() -> None:
    expected = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
    assert np.allclose(softmax(LOGITS), expected)
    assert np.allclose(softmax(LOGITS + 1e4), expected)
    assert softmax(np.array([[-np.inf, 0.0]])).tolist() == [[0, 1]]


def test_logits_of_probabilities_give_them_back() -> None:
    made = Predictions.of(LABELS, probs=softmax(LOGITS))
    assert np.allclose(softmax(made.logits), made.probs)


def test_round_trip_with_everything(tmp_path: Path) -> None:
    made = Predictions(
        scores=LOGITS,
        kind="logits",
        labels=LABELS,
        classes=("a", "b", "ü"),
        ids=np.array(["x/1.png", "x/2.png", "y/3.png"]),
        split="validation",
        source="toy",
        features=np.ones((3, 2)),
        members=np.stack([LOGITS, LOGITS]),
        label_distributions=softmax(LOGITS),
        class_counts=np.array([1, 2, 3]),
        notes={"weights": "averaged"},
    )
    made.save(tmp_path / "p.npz")
    again = Predictions.load(tmp_path / "p.npz")
    assert again.classes == made.classes
    assert (again.kind, again.split, again.source) == ("logits", "validation", "toy")
    assert again.notes == {"weights": "averaged"}
    for name in ("scores", "labels", "ids", "features", "members", "label_distributions"):
        assert np.array_equal(getattr(again, name), getattr(made, name)), name
    some = again.take(np.array([2, 0]))
    assert some.labels.tolist() == [2, 0]
    assert some.members.shape == (2, 2, 3)


def test_a_file_of_two_arrays_is_enough(tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", probs=softmax(LOGITS), labels=LABELS)
    assert Predictions.load(tmp_path / "p.npz").classes == ("0", "1", "2")


def test_logits_beside_their_own_probabilities_are_no_contradiction(tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", logits=LOGITS, probs=softmax(LOGITS), labels=LABELS)
    assert Predictions.load(tmp_path / "p.npz").kind == "logits"


def broken(**changes) -> dict:
    return {"logits": LOGITS, "labels": LABELS} | changes


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"logits": LOGITS}, "no array `labels`"),
        ({"labels": LABELS}, "one of the arrays"),
        (broken(probs=softmax(LOGITS)[[0, 2, 1]]), "row 1 contradict"),
        (broken(probs=softmax(LOGITS)[:2]), r"shape \(2, 3\) contradict"),
        (broken(probs=np.full((3, 3), np.nan)), "row 0 contradict"),
        (broken(labels=np.array([0, 1, 3])), "label 3 of row 2 is outside 0 … 2"),
        (broken(labels=np.array([0, 1])), "2 labels for 3 rows"),
        (broken(labels=np.array([0.0, 1, 2])), "integer class"),
        (broken(logits=np.where(np.eye(3) > 0, np.nan, LOGITS)), "row 0 of the logits holds NaN"),
        (broken(logits=np.where(np.eye(3) > 0, np.inf, LOGITS)), r"\+inf"),
        (broken(logits=softmax(LOGITS)), "say probs"),
        ({"probs": LOGITS, "labels": LABELS}, "say logits"),
        ({"probs": softmax(LOGITS) * 0.9, "labels": LABELS}, "sums to 0.9"),
        (broken(logits=LOGITS[:, :1], labels=LABELS * 0), "two classes"),
        (broken(logits=LOGITS[:0], labels=LABELS[:0]), "need a sample"),
        (broken(classes=np.array(["a", "b"])), "2 class names"),
        (broken(logits=LOGITS[0]), "two-dimensional"),
    ],
)
def test_nonsense_is_named(arrays: dict, message: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", **arrays)
    with pytest.raises(BadInput, match=message):
        Predictions.load(tmp_path / "p.npz")


def test_missing_and_damaged_files(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not exist"):
        Predictions.load(tmp_path / "none.npz")
    np.savez(tmp_path / "p.npz", logits=LOGITS, labels=LABELS)
    whole = (tmp_path / "p.npz").read_bytes()
    (tmp_path / "p.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match=r"is no \.npz file"):
        Predictions.load(tmp_path / "p.npz")


def test_no_pickle_is_opened(tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", logits=LOGITS, labels=np.array([{}, {}, {}], dtype=object))
    with pytest.raises(BadInput, match="Python objects, which mixcal does not unpickle"):
        Predictions.load(tmp_path / "p.npz")
