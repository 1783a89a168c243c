"""Wrong pseudo-labels against sorting by hand; what is saved against what is read."""

from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions
from mixcal.core.pseudo_mistakes import PseudoMistakes

PROBS = np.array([[0.9, 0.1], [0.3, 0.7], [0.2, 0.8], [0.6, 0.4], [0.05, 0.95]])
LABELS = np.array([1, 0, 1, 0, 0])


def mistakes(count: int = 200) -> PseudoMistakes:
    predictions = Predictions.of(LABELS, probs=PROBS, ids=np.array(list("abcde")))
    return PseudoMistakes.of(predictions, np.array([10, 11, 12, 13, 14]), count=count)


def test_the_surest_mistake_comes_first() -> None:
    found = mistakes()
    assert found.ids.tolist() == ["e", "a", "b"]
    assert found.position.tolist() == [14, 10, 11]
    assert found.said.tolist() == [1, 0, 1]
    assert found.label.tolist() == [0, 1, 0]
    assert found.confidence.tolist() == [0.95, 0.9, 0.7]
    assert (found.asked, found.wrong) == (5, 3)


def test_the_rest_is_only_counted() -> None:
    found = mistakes(count=1)
    assert found.ids.tolist() == ["e"]
    assert (found.asked, found.wrong) == (5, 3)


def test_what_is_saved_is_read(tmp_path: Path) -> None:
    mistakes().save(tmp_path / "m.npz")
    found = PseudoMistakes.load(tmp_path / "m.npz")
    assert found.ids.tolist() == ["e", "a", "b"]
    assert found.confidence.tolist() == [0.95, 0.9, 0.7]
    assert (found.asked, found.wrong, found.classes) == (5, 3, ("0", "1"))


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.npz").write_bytes(b"no archive")
    with pytest.raises(BadInput, match=r"m\.npz"):
        PseudoMistakes.load(tmp_path / "m.npz")
