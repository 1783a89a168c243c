"""Deep ensembles: numbers worked out by hand, and members that do not belong together."""

from dataclasses import replace

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions
from mixcal.judging.summary import summarized
from mixcal.predicting.ensemble import ensembled


def member(first: float, labels: tuple[int, ...] = (0, 1)) -> Predictions:
    probs = np.array([[first, 1 - first]] * 2)
    return Predictions.of(np.array(labels), logits=np.log(probs), ids=["a", "b"])


def test_by_hand() -> None:
    whole = ensembled([member(0.9), member(0.5), member(0.7)])
    assert whole.kind == "probs"
    assert whole.scores[0].tolist() == pytest.approx([0.7, 0.3], abs=1e-7)
    assert whole.members is not None
    assert whole.members[:, 1, 0].tolist() == pytest.approx([0.9, 0.5, 0.7], abs=1e-7)
    nll = summarized(whole.take(np.array([0])))["metrics"]["nll"]["value"]
    assert nll == pytest.approx(0.356675, abs=1e-6)


def test_mean_of_probabilities_not_of_logits_and_any_kind_of_scores() -> None:
    logits = member(0.9)
    probs = replace(logits, scores=logits.probs, kind="probs")
    other = member(0.2)
    assert np.allclose(ensembled([probs, other]).scores, ensembled([logits, other]).scores)
    assert ensembled([logits, other]).scores[0, 0] == pytest.approx(0.55, abs=1e-7)


def test_saved_and_loaded_with_its_members(tmp_path) -> None:
    whole = ensembled([member(0.9), member(0.5)])
    whole.save(tmp_path / "e.npz")
    again = Predictions.load(tmp_path / "e.npz")
    assert np.array_equal(again.members, whole.members)
    assert again.notes == {"way": "ensemble-2"}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"classes": ("x", "y")}, "classes"),
        ({"split": "validation"}, "splits"),
        ({"ids": np.array(["b", "a"])}, "samples"),
        ({"labels": np.array([1, 1])}, "labels"),
    ],
)
def test_members_of_other_samples_are_refused(change, word: str) -> None:
    with pytest.raises(BadInput, match=f"The members' {word} differ"):
        ensembled([member(0.9), replace(member(0.5), **change)])
