"""Sheets of samples on which two models differ against sorting five samples by hand."""

import numpy as np

from mixcal.core.predictions import Predictions
from mixcal.judging.report.disagreements import disagreement_sheets, largest
from tests.judging.report.test_galleries import opened
from tests.support.contenders import contender
from tests.support.judged import made_pictures

LABELS = np.array([0, 0, 0, 0, 0])
# The probability of "cat", which is right for all; below one half the answer is "dog".
FIRST = np.array([0.02, 0.9, 0.3, 0.95, 0.6])
SECOND = np.array([0.4, 0.1, 0.3, 0.55, 0.6])


def model(name: str, cat: np.ndarray):
    probs = np.stack([cat, 1 - cat], axis=1)
    return contender(name, Predictions.of(LABELS, probs=probs, classes=["cat", "dog"]))


def test_samples_are_sorted_by_what_sets_the_two_apart() -> None:
    apart, ours, theirs = disagreement_sheets(model("a", FIRST), model("b", SECOND))
    # Confidences differ by 0.38, 0, 0, 0.4 and 0.
    assert [exhibit.name for exhibit in apart.exhibits] == ["3", "0"]
    # Both are wrong about sample 0, a with 0.98 and b with 0.6.
    assert [exhibit.name for exhibit in ours.exhibits] == ["0"]
    assert ours.title == "a is surer of a mistake"
    # Equally confident about sample 1, but only b is wrong.
    assert [exhibit.name for exhibit in theirs.exhibits] == ["1"]


def test_an_exhibit_says_what_both_say() -> None:
    _, ours, _ = disagreement_sheets(model("a", FIRST), model("b", SECOND))
    assert ours.exhibits[0].lines == (
        "is cat",
        "a: dog at 98.0\u00a0% ✗",
        "b: dog at 60.0\u00a0% ✗",
    )
    assert ours.exhibits[0].picture == ""


def test_pictures_are_those_of_the_samples() -> None:
    everything = made_pictures(5)
    sheets = disagreement_sheets(
        model("a", FIRST), model("b", SECOND), lambda positions: everything[positions]
    )
    shown = [np.asarray(opened(exhibit.picture))[0, 0, 0] for exhibit in sheets[0].exhibits]
    assert shown == [3, 0]


def test_models_that_agree_have_no_sheets() -> None:
    assert disagreement_sheets(model("a", FIRST), model("b", FIRST)) == []


def test_the_largest_are_positive_and_few() -> None:
    assert largest(np.array([0.1, -3.0, 0.0, 0.7]), 3).tolist() == [3, 0]
    assert largest(np.arange(50.0), 4).tolist() == [49, 48, 47, 46]
