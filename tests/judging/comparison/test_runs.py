"""The scoreboard of runs against the metrics and paired differences of their samples."""

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions
from mixcal.judging.comparison.runs import baseline_of, compared_runs
from mixcal.judging.metrics.paired import paired_difference
from mixcal.judging.samples import Samples
from tests.support.contenders import contender
from tests.support.judged import made_predictions

OVER, RIGHT = made_predictions(temperature=0.5), made_predictions(temperature=1.0)
SHUFFLED = np.random.default_rng(0).permutation(len(RIGHT))
METRICS = ("error", "ece", "nll", "mean_confidence", "ks")


def test_differences_are_those_of_the_same_samples() -> None:
    runs = [contender("over", OVER), contender("right", RIGHT.take(SHUFFLED))]
    board = compared_runs(runs, runs[0], METRICS)
    base, other = board.lines
    assert base.baseline
    assert not other.baseline
    assert all(cell.gap is None for cell in base.cells.values())
    pair = Samples.of(RIGHT), Samples.of(OVER)
    for metric in METRICS[:4]:
        cell, expected = other.cells[metric], paired_difference(*pair, metric)
        assert cell.gap is not None
        assert (cell.gap.value, cell.gap.low, cell.gap.high) == (
            expected.value,
            expected.low,
            expected.high,
        )
        assert cell.value == pytest.approx(expected.first)
        assert cell.gap.differs == expected.differs
    # Tempering changes no prediction, and what is less overconfident is better.
    assert other.cells["error"].gap.value == 0
    assert [other.cells[m].verdict(m) for m in METRICS[:4]] == ["", "better", "better", "different"]
    assert other.cells["ks"].gap is None
    assert "No paired difference is known for ks." in board.notes


def test_another_baseline_turns_the_signs() -> None:
    runs = [contender("over", OVER), contender("right", RIGHT)]
    there, back = (compared_runs(runs, one, ["nll"]) for one in runs)
    assert back.against == "right"
    first, second = there.lines[1].cells["nll"].gap, back.lines[0].cells["nll"].gap
    assert first is not None
    assert second is not None
    assert second.value == pytest.approx(-first.value)
    assert [line.cells["nll"].verdict("nll") for line in back.lines] == ["worse", ""]


def test_an_infinite_number_has_no_difference() -> None:
    labels = np.array([0, 1, 0, 1])
    sure = np.array([[1.0, 0.0], [1.0, 0.0], [0.9, 0.1], [0.2, 0.8]])
    mild = np.full((4, 2), 0.5)
    runs = [
        contender(name, Predictions.of(labels, probs=probs))
        for name, probs in (("sure", sure), ("mild", mild))
    ]
    cell = compared_runs(runs, runs[0], ["nll", "error"]).lines[1].cells
    assert cell["nll"].gap is None
    assert cell["error"].gap is not None


def test_runs_that_predict_the_same_are_told() -> None:
    runs = [contender("a", OVER), contender("b", OVER), contender("c", RIGHT)]
    said = compared_runs(runs, runs[0], ["error"]).notes
    assert "b and a predict exactly the same." in said
    assert not any("c and a" in note for note in said)


def test_a_baseline_goes_by_name_or_path() -> None:
    runs = [contender("a", OVER), contender("b", RIGHT)]
    assert baseline_of(runs, None) is runs[0]
    assert baseline_of(runs, "b") is baseline_of(runs, "b/") is runs[1]
    with pytest.raises(BadInput, match="none of the runs is called so; name one of a, b"):
        baseline_of(runs, "c")
