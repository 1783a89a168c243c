"""Groups of samples against the mean and variance of sampling; the density's mass and place."""

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.plots.joint_density import (
    Moment,
    draw_joint_density,
    highest_density_levels,
    moments,
    smoothed_histogram,
)
from mixcal.judging.samples import Samples
from mixcal.training.evaluation import binned
from tests.support.judged import made_predictions

PREDICTIONS = made_predictions(2000)
SAMPLES = Samples.of(PREDICTIONS)


def line(step: int = 100, weights: str = "averaged") -> dict:
    bins = binned(PREDICTIONS, 50)
    return {"step": step, "split": "validation", "weights": weights, "bins": bins}


def test_the_log_holds_the_sums() -> None:
    moment = Moment.of(line())
    sums = Reliability.of_confidence(SAMPLES.confidence, SAMPLES.right, bins=50)
    assert (moment.counts == sums.counts).all()
    assert moment.place == pytest.approx((SAMPLES.confidence.mean(), SAMPLES.right.mean()))


def test_groups_scatter_as_means_of_samples_do() -> None:
    points = Moment.of(line()).groups(size=50, draws=20_000)
    center = points.mean(0)
    assert center == pytest.approx([SAMPLES.confidence.mean(), SAMPLES.right.mean()], abs=3e-3)
    spread = [SAMPLES.confidence.std(), SAMPLES.right.std()] / np.sqrt(50)
    assert points.std(0) == pytest.approx(spread, rel=0.03)
    together = np.corrcoef(SAMPLES.confidence, SAMPLES.right)[0, 1]
    assert np.corrcoef(points.T)[0, 1] == pytest.approx(together, abs=0.03)


def test_smoothing_keeps_the_mass_and_the_place() -> None:
    points = np.array([[0.2, 0.6], [0.2, 0.6], [1.0, 1.0]])
    density, centers = smoothed_histogram(points)
    assert density.sum() == pytest.approx(1)
    assert density.sum(1) @ centers == pytest.approx(points[:, 0].mean(), abs=0.02)
    assert density.sum(0) @ centers == pytest.approx(points[:, 1].mean(), abs=0.02)


def test_contours_hold_their_share() -> None:
    density = np.array([[4.0, 3.0], [2.0, 1.0]])
    assert highest_density_levels(density, [0.65, 0.3]) == [3.0, 4.0]
    assert highest_density_levels(np.ones((2, 2)), [0.9, 0.5]) == [1.0]


def test_panels_are_spread_over_the_epochs() -> None:
    log = [line(step) for step in range(100, 1100, 100)] + [{"step": 5, "loss_x": 1.0}]
    figure = draw_joint_density(moments(log), epoch_steps=100, panels=3, title="run")
    titles = [one.get_title("left") for one in figure.axes]
    assert titles == ["epoch 1", "epoch 5", "epoch 10"] or titles == [
        "epoch 1",
        "epoch 6",
        "epoch 10",
    ]
    (point,) = (one for one in figure.axes[0].lines if one.get_marker() == "o")
    assert point.get_xydata()[0] == pytest.approx(Moment.of(line()).place)
    assert "groups of 100 of n = 2,000" in figure.get_suptitle()


def test_averaged_weights_come_first() -> None:
    log = [line(1, "raw"), line(2, "averaged"), line(3, "raw")]
    assert [moment.step for moment in moments(log)] == [2]


def test_a_log_without_bins_says_what_to_do() -> None:
    with pytest.raises(BadInput, match=r"running\.log_bins=50"):
        moments([{"step": 1, "split": "test", "weights": "raw"}])
    with pytest.raises(BadInput, match="evaluate_every"):
        draw_joint_density([])
    for few in ({"panels": 0}, {"group": 0}):
        with pytest.raises(BadInput, match="give 1 or more"):
            draw_joint_density(moments([line(1, "raw")]), **few)
