"""Awkward and wrong predictions against numbers by hand, and against one sentence each."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from mixcal.cli import main
from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions, softmax
from mixcal.judging.estimates import INTERVALS
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.summary import summarized

EYE = np.eye(3)


def judged(labels: list[int], probs: np.ndarray, **options) -> dict[str, dict[str, float]]:
    """Every metric; what must hold of any of them is checked on the way."""
    made = summarized(Predictions.of(np.array(labels), probs=np.asarray(probs)), **options)
    assert list(made["metrics"]) == list(INTERVALS)
    for name, found in made["metrics"].items():
        assert set(found) == {"value", "low", "high"}
        if name == "confidence_auroc" and math.isnan(found["value"]):
            assert (found["low"], found["high"]) == (0, 1)
            continue
        assert 0 <= found["low"] <= found["value"] <= found["high"], name
    json.dumps(made)
    return made["metrics"]


def test_one_class_only() -> None:
    probs = np.array([[0.9, 0.05, 0.05]] * 6 + [[0.2, 0.7, 0.1]] * 2)
    found = judged([0] * 8, probs)
    assert found["accuracy"]["value"] == 0.75
    # By hand: six at 0.9 all right, two at 0.7 all wrong.
    assert found["ece"]["value"] == pytest.approx((6 * 0.1 + 2 * 0.7) / 8)
    assert found["classwise_ece"]["value"] == pytest.approx(
        ((6 * 0.1 + 2 * 0.8) + (6 * 0.05 + 2 * 0.7) + (6 * 0.05 + 2 * 0.1)) / 8 / 3
    )
    assert found["confidence_auroc"]["value"] == 1


def test_one_sample() -> None:
    for label, right in ((0, 1.0), (1, 0.0)):
        found = judged([label], np.array([[0.6, 0.3, 0.1]]))
        gap = abs(0.6 - right)
        for name in ("ece", "adaptive_ece", "mce", "rms_ce", "ace", "ks"):
            assert found[name]["value"] == pytest.approx(gap), name
            assert found[name]["high"] - found[name]["low"] > 0.3, name
        assert found["debiased_ece"]["value"] == 0
        assert found["nll"]["value"] == pytest.approx(-math.log([0.6, 0.3][label]))
        assert (found["nll"]["low"], found["nll"]["high"]) == (0, math.inf)
        assert math.isnan(found["confidence_auroc"]["value"])


def test_ties_everywhere() -> None:
    for n in (3, 10, 400):
        probs, labels = np.array([[0.5, 0.3, 0.2]] * n), [0, 1] * (n // 2) + [0] * (n % 2)
        found = judged(labels, probs)
        gap = abs(0.5 - (n - n // 2) / n)
        for name in ("ece", "adaptive_ece", "mce", "ks"):
            assert found[name]["value"] == pytest.approx(gap, abs=1e-12), name
        assert found["confidence_auroc"]["value"] == 0.5
        assert found["aurc"]["value"] == pytest.approx((n // 2) / n)
    # All classes tied: the first one is predicted.
    assert judged([0, 0, 1, 2], np.full((4, 4), 0.25))["accuracy"]["value"] == 0.5


def test_confidence_exactly_zero_and_one() -> None:
    found = judged([0, 1, 2, 2], EYE[[0, 1, 2, 0]])
    assert found["ece"]["value"] == 0.25
    assert found["nll"] == {"value": math.inf, "low": math.inf, "high": math.inf}
    assert found["brier"]["value"] == 0.5
    clipped = judged([0, 1, 2, 2], EYE[[0, 1, 2, 0]], like="scikit-learn")
    assert clipped["nll"]["value"] == pytest.approx(-math.log(np.finfo(float).eps) / 4)
    # 0.0 falls into the first bin whichever end is closed, 1.0 into the last.
    for closed in ("right", "left"):
        sums = Reliability.of_confidence(np.array([0.0, 1.0]), np.array([0, 1]), closed=closed)
        assert np.flatnonzero(sums.counts).tolist() == [0, 14]
        assert sums.expected_error() == 0
    apart = judged([0, 1, 2, 2], EYE[[0, 1, 2, 0]], like="torchmetrics")
    assert apart["ece"]["value"] == 0.25


def test_always_right_and_always_wrong() -> None:
    probs = np.array([[0.9, 0.05, 0.05], [0.8, 0.1, 0.1]] * 100)
    right, wrong = judged([0] * 200, probs), judged([1] * 200, probs)
    assert right["accuracy"]["value"] == wrong["error"]["value"] == 1
    assert right["accuracy"]["low"] == wrong["error"]["low"] < 1
    # No error was seen, which is not the same as none there is.
    assert right["aurc"]["value"] == 0 < right["aurc"]["high"] < 0.03
    assert wrong["aurc"]["value"] == 1 > wrong["aurc"]["low"] > 0.97
    assert right["ue"]["value"] == pytest.approx(0.15)
    assert wrong["oe"]["value"] == pytest.approx(0.85)


def test_told_apart_without_exception() -> None:
    probs = np.array([[0.9, 0.05, 0.05]] * 40 + [[0.6, 0.2, 0.2]] * 10)
    found = judged([0] * 40 + [1] * 10, probs)["confidence_auroc"]
    # As a share of ten hits in ten: 0.025 ** (1 / 10).
    assert (found["value"], found["high"]) == (1, 1)
    assert found["low"] == pytest.approx(0.6915, abs=1e-4)


def test_fewer_samples_than_bins() -> None:
    probs = np.array([[0.9, 0.05, 0.05], [0.7, 0.2, 0.1], [0.4, 0.35, 0.25]])
    found = judged([0, 1, 2], probs, bins=50)
    assert found["ece"]["value"] == pytest.approx((0.1 + 0.7 + 0.4) / 3)
    assert found["adaptive_ece"]["value"] == pytest.approx((0.1 + 0.7 + 0.4) / 3)
    assert found["mce"]["value"] == pytest.approx(0.7)


def test_saturated_float32() -> None:
    # Softmax in float32 gives exact ones; as logits the log loss stays finite.
    logits = np.array([[200.0, 0, 0], [0, 200, 0], [200, 0, 0]], dtype=np.float32)
    labels = np.array([0, 1, 1])
    made = summarized(Predictions.of(labels, logits=logits))["metrics"]
    assert made["nll"]["value"] == pytest.approx(200 / 3)
    probs = softmax(logits)
    assert probs.max() == 1
    assert judged(labels.tolist(), probs)["nll"]["value"] == math.inf


LOGITS = np.array([[2.0, 1, 0], [0.5, 1.5, -1], [1, 3, 0]])
LABELS = np.array([0, 1, 2])
WRONG = {
    "nan": ({"logits": np.where(EYE > 0, np.nan, LOGITS)}, "row 0 of the logits holds NaN"),
    "nan probs": ({"probs": np.where(EYE > 0, np.nan, 0.3)}, "row 0 of the probs holds NaN"),
    "sums": ({"probs": softmax(LOGITS) * 0.9}, "row 0 of the probabilities sums to 0.9"),
    "one row": ({"probs": np.array([[1, 0, 0], [0.5, 0.4, 0], [1, 0, 0]])}, "row 1 of the prob"),
    "negative": ({"probs": np.array([[1.2, -0.2, 0]] * 3)}, "smallest value -0.2"),
    "too large": ({"logits": LOGITS, "labels": LABELS + 1}, "label 3 of row 2 is outside 0 … 2"),
    "below zero": ({"logits": LOGITS, "labels": LABELS - 1}, "label -1 of row 0 is outside"),
    "logits as probs": ({"probs": LOGITS}, "if these are logits, say logits"),
    "probs as logits": ({"logits": softmax(LOGITS)}, "if these are probabilities, say probs"),
    "both, apart": ({"logits": LOGITS, "probs": softmax(-LOGITS)}, "row 0 contradict each other"),
    "infinite": ({"logits": np.where(EYE > 0, np.inf, LOGITS)}, "the logits hold +inf"),
    "infinite both ways": (
        {"logits": np.array([[np.inf, -np.inf, 0], [0, 0, 1], [1, 2, 0]])},
        "the logits hold +inf",
    ),
    "text": ({"probs": EYE.astype(str)}, "scores are of type <U32; they must be real numbers"),
    "complex": ({"probs": EYE.astype(complex)}, "scores are of type complex128"),
    "features": ({"probs": EYE, "features": np.ones((2, 4))}, "features of shape (2, 4) do not"),
    "maps": ({"probs": EYE, "features": np.ones((3, 4, 2, 2))}, "features of shape (3, 4, 2, 2)"),
    "features NaN": ({"probs": EYE, "features": np.full((3, 4), np.nan)}, "the features hold NaN"),
    "people": ({"probs": EYE, "label_distributions": np.full((3, 2), 0.5)}, "of shape (3, 2) do"),
    "one vote": ({"probs": EYE, "label_distributions": np.ones(3)}, "of shape (3,) do not fit"),
    "ids": ({"probs": EYE, "ids": np.arange(2)}, "ids of shape (2,) do not fit 3 samples"),
    "members": ({"probs": EYE, "members": np.ones((2, 2, 3))}, "members of shape (2, 2, 3)"),
    "counts": ({"probs": EYE, "class_counts": np.array([3, 1])}, "class_counts of shape (2,)"),
    "notes": ({"probs": EYE, "notes": np.array("{")}, "`notes` are no object in JSON"),
    "no sample": ({"logits": LOGITS[:0], "labels": LABELS[:0]}, "need a sample"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_refused_in_one_sentence(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrays, message = WRONG[name]
    np.savez(tmp_path / "p.npz", **({"labels": LABELS} | arrays))
    assert main(["judge", str(tmp_path / "p.npz"), "--json"]) == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert len(shown.err.splitlines()) == 1
    assert message in shown.err
    assert str(tmp_path / "p.npz") in shown.err


def test_wide_floats_and_rows_a_little_over_one() -> None:
    probs = softmax(LOGITS)
    wide = Predictions.of(LABELS, probs=probs.astype(np.longdouble))
    assert summarized(wide) == summarized(Predictions.of(LABELS, probs=probs))
    over = summarized(Predictions.of(LABELS, probs=EYE * 1.0009), like="torchmetrics")["metrics"]
    for name in set(over) - {"confidence_auroc"}:
        assert over[name]["low"] <= over[name]["value"] <= over[name]["high"], name


def test_votes_that_are_no_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "p.npz", labels=LABELS, logits=LOGITS)
    for votes in ({"counts": np.full((3, 3), "x")}, {"label_distributions": np.ones(3)}):
        np.savez(tmp_path / "votes.npz", **votes)
        asked = ["judge", str(tmp_path / "p.npz"), "--humans", str(tmp_path / "votes.npz")]
        assert main(asked) == 2
        assert "votes.npz has neither `counts`" in capsys.readouterr().err


def test_a_table_that_is_not_utf_8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.csv").write_bytes("label,prob_é,prob_b\nb,.5,.5\n".encode("latin-1"))
    assert main(["judge", str(tmp_path / "p.csv")]) == 2
    assert "p.csv cannot be read ('utf-8'" in capsys.readouterr().err


def test_what_the_caller_says_is_never_overruled() -> None:
    uniform = np.full((4, 3), 1 / 3)
    with pytest.raises(BadInput, match="say probs"):
        Predictions.of(np.zeros(4, int), logits=uniform)
    # Logits between 0 and 1 stay logits: torchmetrics takes them for probabilities.
    inside = np.array([[0.9, 0.1, 0.2], [0.3, 0.8, 0.1]])
    made = Predictions.of(np.array([0, 1]), logits=inside)
    assert summarized(made)["metrics"]["mean_confidence"]["value"] == pytest.approx(
        softmax(inside).max(1).mean()
    )
