"""What pages draw, against the Reliability it comes from and against counting by hand."""

import json

import numpy as np
import pytest

from mixcal.core.predictions import Predictions
from mixcal.judging.metrics.equal_mass import adaptive_error
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.report.figures import (
    FEWEST_BINS,
    MOST_BINS,
    WHOLE_MATRIX,
    compact,
    figure,
    thinned,
)
from mixcal.judging.report.judged import Judged
from mixcal.judging.samples import Samples
from tests.support.judged import made_predictions


@pytest.fixture(scope="module")
def judged() -> Judged:
    return Judged.of(made_predictions(), name="network")


@pytest.fixture(scope="module")
def drawn(judged: Judged) -> dict:
    return json.loads(json.dumps(compact(figure(judged))))


def ece(sums: dict) -> float:
    """From the numbers in the page alone, as its script computes it."""
    counts = np.array(sums["counts"])
    gaps = np.abs(np.array(sums["confidence"]) - np.array(sums["right"]))
    return float(gaps.sum() / counts.sum())


@pytest.mark.parametrize("bins", [FEWEST_BINS, 7, 15, MOST_BINS])
def test_the_ece_of_what_is_drawn_is_the_ece(judged: Judged, drawn: dict, bins: int) -> None:
    samples = Samples.of(judged.predictions)
    sums = Reliability.of_confidence(samples.confidence, samples.right, bins=bins)
    assert ece(drawn["width"][str(bins)]) == pytest.approx(sums.expected_error(), abs=1e-7)
    adaptive = adaptive_error(samples.confidence, samples.right, bins=bins)
    assert ece(drawn["mass"][str(bins)]) == pytest.approx(adaptive, abs=1e-7)


def test_bins_of_the_summary_show_the_summary(judged: Judged, drawn: dict) -> None:
    shown = drawn["width"]["15"]
    metric = judged.summary["metrics"]["ece"]
    assert shown["interval"] == pytest.approx([metric["low"], metric["high"]], abs=1e-6)
    band = judged.summary["null_band"]
    assert shown["null"] == pytest.approx([band["low"], band["high"]], abs=1e-6)


def test_whiskers_and_bands_hold_what_they_are_about(drawn: dict) -> None:
    for kind in ("width", "mass"):
        for sums in drawn[kind].values():
            for m, count in enumerate(sums["counts"]):
                if count:
                    accuracy = sums["right"][m] / count
                    assert sums["low"][m] <= accuracy + 1e-6
                    assert sums["high"][m] >= accuracy - 1e-6
                    assert sums["band_low"][m] <= sums["confidence"][m] / count + 1e-6


def test_the_page_does_not_grow_with_the_samples() -> None:
    sizes = [
        len(json.dumps(compact(figure(Judged.of(made_predictions(n), name="")))))
        for n in (500, 20_000)
    ]
    assert sizes[1] < 1.3 * sizes[0]


def test_confusion_counts_true_against_said(judged: Judged, drawn: dict) -> None:
    predictions = judged.predictions
    matrix = np.zeros((5, 5), dtype=int)
    for label, scores in zip(predictions.labels, predictions.scores, strict=True):
        matrix[label, scores.argmax()] += 1
    assert drawn["confusion"]["matrix"] == matrix.tolist()


def test_many_classes_show_the_most_confused_pairs() -> None:
    classes = WHOLE_MATRIX + 5
    labels = np.array([0, 0, 0, 1, 1, 2])
    said = np.array([3, 3, 0, 2, 1, 2])
    probs = np.full((6, classes), 0.5 / (classes - 1))
    probs[np.arange(6), said] = 0.5
    drawn = figure(Judged.of(Predictions.of(labels, probs=probs), name=""))
    assert drawn["confusion"] == {"pairs": [["0", "3", 2], ["1", "2", 1]]}


def test_classes_are_judged_by_what_was_said() -> None:
    probs = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]])
    drawn = figure(Judged.of(Predictions.of(np.array([0, 1, 1]), probs=probs), name=""))
    assert [row[:2] for row in drawn["classes"]] == [["0", 2], ["1", 1]]
    assert drawn["classes"][0][2:] == pytest.approx([0.8, 0.5])
    assert drawn["classes"][1][2:] == pytest.approx([0.8, 1.0])


def test_one_sample_can_be_drawn() -> None:
    drawn = figure(Judged.of(Predictions.of(np.array([0]), probs=np.array([[1.0, 0.0]])), name=""))
    assert drawn["width"][15]["counts"][-1] == 1
    json.dumps(compact(drawn), allow_nan=False)


def test_thinning_keeps_both_ends() -> None:
    assert thinned(3, 10).tolist() == [0, 1, 2]
    chosen = thinned(1000, 11)
    assert len(chosen) == 11
    assert (chosen[0], chosen[-1]) == (0, 999)
