"""Histograms against counting by hand, and what the legend says against the metric."""

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.judging.plots.confidence import draw_confidence, draw_winning_scores

CONFIDENCE = np.array([0.05, 0.15, 0.15, 0.95, 1.0])
RIGHT = np.array([True, False, True, True, False])


def test_right_and_wrong_stand_on_each_other() -> None:
    axes = draw_confidence(CONFIDENCE, RIGHT, title="five", cells=10).axes[0]
    right, wrong = axes.containers
    assert [bar.get_height() for bar in right] == pytest.approx([0.2, 0.2, *[0] * 7, 0.2])
    assert [bar.get_height() for bar in wrong] == pytest.approx([0, 0.2, *[0] * 7, 0.2])
    assert [bar.get_y() for bar in wrong] == [bar.get_height() for bar in right]
    assert [c.get_label() for c in (right, wrong)] == ["right (3)", "wrong (2)"]
    places = {line.get_label(): line.get_xdata()[0] for line in axes.lines}
    assert places == pytest.approx({"accuracy": 0.6, "mean confidence": 0.46})
    assert "n = 5" in axes.texts[0].get_text()


def test_winning_scores_are_shares_of_each_set() -> None:
    foreign = np.array([0.05, 0.05, 0.12, 0.5])
    axes = draw_winning_scores({"net": {"test": CONFIDENCE, "noise": foreign}}, cells=10).axes[0]
    drawn = {p.get_label(): p.get_data().values for p in axes.patches if p.get_label()}
    # By hand: of the 20 pairs noise is less confident in 14, as confident (0.05) in 2.
    assert list(drawn) == ["test, n = 5", "noise, n = 4, AUROC 0.750"]
    first, second = drawn.values()
    assert first == pytest.approx([0.2, 0.4, *[0] * 7, 0.4])
    assert second == pytest.approx([0.5, 0.25, 0, 0, 0, 0.25, *[0] * 4])


def test_models_stand_side_by_side() -> None:
    models = {name: {"test": CONFIDENCE, "noise": CONFIDENCE} for name in "abcd"}
    axes = draw_winning_scores(models).axes
    assert [one.get_title("left") for one in axes[:4]] == list("abcd")
    assert [one.get_visible() for one in axes[4:]] == [False, False]


def test_wrong_words() -> None:
    with pytest.raises(BadInput, match="no samples"):
        draw_confidence(np.empty(0), np.empty(0, dtype=bool))
    with pytest.raises(BadInput, match="largest probability"):
        draw_confidence(np.array([0.5, 3.0]), np.array([True, False]))
    with pytest.raises(BadInput, match="--ood"):
        draw_winning_scores({"net": {"test": CONFIDENCE}})
