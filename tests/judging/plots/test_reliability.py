"""Bars, bands and whiskers of the diagram against the sums they come from and against redrawing."""

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.judging.metrics.equal_mass import equal_mass
from mixcal.judging.metrics.intervals import wilson
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.metrics.reliability_intervals import (
    bootstrap_accuracies,
    error_interval,
    null_band,
    null_gaps,
)
from mixcal.judging.plots.reliability import draw_reliability, draw_smooth_reliability
from mixcal.judging.report.judged import Judged
from mixcal.judging.samples import Samples
from tests.support.judged import made_predictions

SAMPLES = Samples.of(made_predictions(temperature=0.9))
SUMS = Reliability.of_confidence(SAMPLES.confidence, SAMPLES.right, bins=10)
HELD = SUMS.counts > 0


def bars(axes, label: str) -> list:
    """The rectangles of one entry of the legend."""
    return [bar for c in axes.containers if c.get_label() == label for bar in c]


def texts(axes) -> str:
    return " ".join(text.get_text() for text in axes.texts)


def test_bars_are_accuracies_and_boxes_the_gaps() -> None:
    diagram = draw_reliability(SUMS, title="network").axes[0]
    assert [bar.get_height() for bar in bars(diagram, "accuracy")] == pytest.approx(
        SUMS.accuracies[HELD]
    )
    assert [bar.get_x() for bar in bars(diagram, "accuracy")] == pytest.approx(
        np.arange(10)[HELD] / 10
    )
    boxes = bars(diagram, "overconfident by") + bars(diagram, "underconfident by")
    drawn = sorted((box.get_x(), box.get_y(), box.get_height()) for box in boxes)
    gaps = zip(np.arange(10)[HELD] / 10, SUMS.accuracies[HELD], SUMS.gaps[HELD], strict=True)
    assert np.array(drawn) == pytest.approx(np.array(sorted(gaps)))
    assert bars(diagram, "underconfident by")
    for box in bars(diagram, "underconfident by"):
        assert box.get_height() < 0
    assert diagram.get_title("left") == "network"


def test_the_gray_boxes_are_the_band_of_a_calibrated_model() -> None:
    low, high = null_gaps(SUMS, level=0.9)
    boxes = bars(draw_reliability(SUMS, level=0.9).axes[0], "if calibrated")
    assert [box.get_y() for box in boxes] == pytest.approx(low[HELD])
    assert [box.get_y() + box.get_height() for box in boxes] == pytest.approx(high[HELD])


def whiskers(figure) -> np.ndarray:
    """Lower and upper ends, from the lines that are drawn."""
    (errorbar,) = (c for c in figure.axes[0].containers if "%" in c.get_label())
    (segments,) = errorbar.lines[2]
    return np.array([segment[:, 1] for segment in segments.get_segments()]).T


def test_whiskers_are_intervals_of_the_accuracy() -> None:
    right, counts = SUMS.right[HELD].astype(float), SUMS.counts[HELD].astype(float)
    expected = np.array(wilson(right, counts, 1.959964))
    assert whiskers(draw_reliability(SUMS)) == pytest.approx(expected, abs=1e-6)
    resampled = np.array(bootstrap_accuracies(SUMS))[:, HELD]
    drawn = whiskers(draw_reliability(SUMS, band="bootstrap"))
    assert drawn == pytest.approx(resampled)


def test_the_bootstrap_of_sums_is_the_bootstrap_of_samples() -> None:
    """Percentiles from sums against those of resampled samples, to the noise of 2,000 draws."""
    generator, n = np.random.default_rng(0), len(SAMPLES)
    accuracies = np.empty((1000, 10))
    for draw in accuracies:
        chosen = generator.integers(0, n, n)
        again = Reliability.of_confidence(
            SAMPLES.confidence[chosen], SAMPLES.right[chosen], bins=SUMS.partition
        )
        draw[:] = np.where(again.counts > 0, again.accuracies, np.nan)
    some = SUMS.counts > 30
    expected = np.nanquantile(accuracies[:, some], [0.05, 0.95], axis=0)
    found = np.array(bootstrap_accuracies(SUMS, level=0.9))[:, some]
    assert np.abs(found - expected).max() < 0.015


def test_counts_and_numbers_are_said() -> None:
    figure = draw_reliability(SUMS)
    shares = [bar.get_height() for bar in figure.axes[1].patches]
    assert shares == pytest.approx(SUMS.counts / 600)
    said = texts(figure.axes[0]).replace("\u00a0", " ").replace("\u2060", "")
    ece, chance = error_interval(SUMS), null_band(SUMS)
    assert "n = 600" in said
    assert f"ECE {100 * ece.value:.2f} % ({100 * ece.low:.2f} – {100 * ece.high:.2f} %)" in said
    assert "10 bins" in said
    assert f"if calibrated {100 * chance.low:.2f} – {100 * chance.high:.2f} %" in said
    ticks = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert ticks == [f"{value}\u202f%" for value in range(0, 101, 20)]


def test_bins_of_equal_mass_have_their_own_edges() -> None:
    sums = equal_mass(SAMPLES.confidence, SAMPLES.right, bins=6)
    figure = draw_reliability({"one": SUMS, "other": sums})
    edges = np.array(sums.partition.edges)
    drawn = [(bar.get_x(), bar.get_width()) for bar in bars(figure.axes[1], "accuracy")]
    assert np.array(drawn) == pytest.approx(np.stack([edges[:-1], np.diff(edges)], axis=1))
    assert "6 bins of equal mass" in texts(figure.axes[1])


def test_the_smooth_diagram_runs_below_the_diagonal_of_an_overconfident_model() -> None:
    judged = Judged.of(made_predictions(), name="network")
    curve = draw_smooth_reliability({"network": judged}).axes[0]
    (line,) = (line for line in curve.lines if line.get_label() == "accuracy")
    confidence, accuracy = line.get_data()
    assert (accuracy < confidence).mean() > 0.9
    said = texts(curve).replace("\u00a0", " ")
    assert f"smooth ECE {100 * judged.value('smooth_ece'):.2f} %" in said


def test_nothing_is_not_drawn() -> None:
    with pytest.raises(BadInput, match="no samples"):
        draw_reliability(Reliability.empty())
    with pytest.raises(BadInput, match="no samples"):
        draw_smooth_reliability({})
