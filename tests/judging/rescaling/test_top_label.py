"""New confidences in old predictions: worked numbers of ProCal, and what must hold always."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixcal.judging.rescaling.odds import Odds
from mixcal.judging.rescaling.top_label import with_confidence


def changed(probs: list[float], confidence: float) -> list[float]:
    with np.errstate(divide="ignore"):
        odds = Odds.of(np.log(np.array([probs])))
    return with_confidence(odds, np.array([confidence]))[0].tolist()


def test_worked_numbers() -> None:
    assert changed([0.6, 0.3, 0.1], 0.788732) == pytest.approx([0.788732, 0.158451, 0.052817], 1e-5)


def test_nothing_left_to_share_and_others_that_would_overtake() -> None:
    assert changed([1, 0, 0], 0.7) == pytest.approx([0.7, 0.15, 0.15])
    # .45 would go to the second class; it gets .4 at most and the third the rest.
    assert changed([0.6, 0.36, 0.04], 0.4) == pytest.approx([0.4, 0.4, 0.2], abs=1e-5)
    assert changed([0.6, 0.3, 0.1], 0.1) == pytest.approx([1 / 3, 1 / 3, 1 / 3], abs=1e-5)
    assert changed([0.6, 0.3, 0.1], 1.0) == [1, 0, 0]


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    k=st.integers(2, 6),
    confidence=st.floats(0, 1),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_label_confidence_and_sum(seed: int, k: int, confidence: float, dtype: type) -> None:
    z = np.random.default_rng(seed).standard_normal((5, k)).astype(dtype) * 5
    probs = with_confidence(Odds.of(z), np.full(5, confidence))
    assert np.array_equal(probs.argmax(1), z.argmax(1))
    assert np.allclose(probs.max(1), max(confidence, 1 / k), atol=3e-6)
    assert np.allclose(probs.sum(1), 1, atol=1e-6 if dtype == np.float32 else 1e-12)
    assert (probs >= 0).all()
    order = np.argsort(z, axis=1)
    assert (np.diff(np.take_along_axis(probs, order, axis=1)) >= -1e-12).all()
