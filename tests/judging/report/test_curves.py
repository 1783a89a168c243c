"""Training curves against the lines of a log."""

import pytest

from mixcal.judging.report.curves import MOST_POINTS, charts

TRAINING = [
    {"step": 10 * i, "loss_labeled": 1.0 / i, "labeled_error": 0.5 / i, "impurity_kept": 0.1 * i,
     "learning_rate": 0.1}
    for i in range(1, 6)
]  # fmt: skip
EVALUATIONS = [
    {"step": 10 * i, "split": "validation", "weights": w, "error": 0.2, "ece_15": 0.1 * i}
    for i in (1, 2)
    for w in ("raw", "averaged")
]


def chart(title: str, log: list) -> dict:
    return next(found for found in charts(log) if found["title"] == title)


def test_losses_are_the_lines_of_the_log() -> None:
    (curve,) = chart("Losses", TRAINING)["curves"]
    assert curve == {
        "name": "labeled",
        "steps": [10, 20, 30, 40, 50],
        "values": pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
    }


def test_purity_is_one_minus_impurity() -> None:
    (curve,) = chart("Purity of the pseudo-labels", TRAINING)["curves"]
    assert curve["values"] == pytest.approx([0.9, 0.8, 0.7, 0.6, 0.5])


def test_evaluations_are_kept_apart_by_split_and_weights() -> None:
    curves = chart("Expected calibration error", TRAINING + EVALUATIONS)["curves"]
    assert [curve["name"] for curve in curves] == ["validation, raw", "validation, averaged"]
    assert curves[0]["values"] == pytest.approx([0.1, 0.2])


def test_charts_without_two_points_are_left_out() -> None:
    assert charts([]) == []
    assert charts(TRAINING[:1]) == []
    assert {found["title"] for found in charts(TRAINING)} == {
        "Losses", "Error", "Purity of the pseudo-labels",
    }  # fmt: skip


def test_missing_numbers_are_skipped_and_long_logs_thinned() -> None:
    log = [{"step": i, "loss_labeled": None if i == 3 else float(i)} for i in range(2000)]
    (curve,) = chart("Losses", log)["curves"]
    assert len(curve["steps"]) == MOST_POINTS
    assert 3 not in curve["steps"]
    assert (curve["steps"][0], curve["steps"][-1]) == (0, 1999)
