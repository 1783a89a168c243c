"""Intervals where mistakes are few, against Wilson's interval worked out by hand."""

import numpy as np
import pytest

from mixcal.core.predictions import Predictions
from mixcal.judging.metrics.few_mistakes import widened, widened_by_rate
from mixcal.judging.metrics.intervals import Estimate
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.metrics.reliability_intervals import error_interval
from mixcal.judging.summary import summarized

# z² / (n + z²) with z = 1.959964: how often 200 samples without a mistake may be wrong.
UNSEEN = 3.841459 / 203.841459


def test_certainty_without_a_mistake_is_no_proof() -> None:
    probs = np.tile([1.0, 0.0, 0.0], (200, 1))
    found = summarized(Predictions.of(np.zeros(200, int), probs=probs))["metrics"]
    for name in ("ece", "adaptive_ece", "rms_ce", "ace", "oe", "smooth_ece", "ks", "mce"):
        assert found[name]["low"] == 0, name
        assert found[name]["high"] == pytest.approx(UNSEEN, abs=1e-6), name
    # Nobody can be righter than certain.
    assert found["ue"]["high"] == 0
    # Three cells of 200 samples: one holds positives only, two none.
    assert found["classwise_ece"]["high"] == pytest.approx(UNSEEN * 3**0.5 / 3, abs=1e-6)
    wrong = summarized(Predictions.of(np.ones(200, int), probs=probs))["metrics"]
    assert wrong["ece"]["low"] == pytest.approx(1 - UNSEEN, abs=1e-6)
    assert wrong["ece"]["high"] == 1
    assert wrong["ue"]["high"] == 0


def test_ends_by_hand() -> None:
    found = widened(
        Estimate(0.05, 0.05, 0.05),
        right=np.array([200.0, 50.0]),
        counts=np.array([200.0, 100.0]),
        claimed=np.array([0.95, 0.9]),
        weights=np.array([1.0, 0.0]),
        level=0.95,
    )
    # The accuracy lies between 1 − UNSEEN and 1; the second bin is no sure one.
    assert found.low == pytest.approx(0.05 - UNSEEN, abs=1e-6)
    assert found.high == 0.05
    untouched = Estimate(0.4, 0.3, 0.5)
    assert widened_by_rate(untouched, np.arange(100) < 40, level=0.95) is untouched
    assert widened_by_rate(untouched, np.arange(1000) < 960, level=0.95) is untouched
    # A mistake in a hundred: Wilson's ends are 0.001767 and 0.054486.
    spread = widened_by_rate(Estimate(0.1, 0.1, 0.1), np.arange(100) > 0, level=0.95)
    assert (spread.low, spread.high) == pytest.approx((0.1 - 0.044486, 0.1 + 0.044486), abs=1e-5)


def test_the_empty_side_is_bounded_by_noise() -> None:
    """All bins far too sure: the underconfidence is nearly nothing, and known to be."""
    for n in (1000, 10_000):
        sums = Reliability.of_confidence(np.full(n, 0.9), np.arange(n) < 0.42 * n)
        found = error_interval(sums, "ue")
        assert (found.value, found.low) == (0, 0)
        # Two standard deviations of an accuracy of 0.42.
        assert found.high == pytest.approx(1.96 * (0.42 * 0.58 / n) ** 0.5, rel=0.1)
