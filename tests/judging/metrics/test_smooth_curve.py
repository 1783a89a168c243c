"""The smooth reliability curve against sums written out for every point, and a known shift."""

import math

import numpy as np
import pytest

from mixcal.judging.metrics.smooth import CELLS, Smoother, smooth_curve
from mixcal.judging.samples import Samples
from tests.support.judged import made_predictions


def test_a_point_of_the_curve_by_the_book() -> None:
    samples = Samples.of(made_predictions(80))
    curve = smooth_curve(samples.confidence, samples.right, points=11)
    width = Smoother.of(samples.confidence, samples.right).bandwidth()
    at = np.linspace(0, 1, 11)
    totals = np.zeros((3, 11))
    for confidence, right in zip(samples.confidence, samples.right, strict=True):
        # The kernel sits at the middle of the sample's cell and spreads over the points.
        middle = (math.floor(min(confidence * CELLS, CELLS - 1)) + 0.5) / CELLS
        kernel = sum(np.exp(-0.5 * ((at - c) / width) ** 2) for c in (middle, -middle, 2 - middle))
        totals += np.outer([1, confidence, right], kernel / kernel.sum())
    held = curve.mass > 1e-3
    np.testing.assert_allclose(curve.mass, totals[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(curve.confidence[held], (totals[1] / totals[0])[held], rtol=1e-9)
    np.testing.assert_allclose(curve.accuracy[held], (totals[2] / totals[0])[held], rtol=1e-9)


def test_the_curve_finds_accuracy_within_its_deviation() -> None:
    generator = np.random.default_rng(0)
    confidence = generator.uniform(0.3, 1, 40_000)
    right = generator.random(40_000) < confidence**2
    curve = smooth_curve(confidence, right)
    inner = (curve.confidence > 0.4) & (curve.confidence < 0.9) & (curve.mass > 1)
    off = np.abs(curve.accuracy - curve.confidence**2)[inner]
    assert inner.sum() > 30
    assert (off < 4 * curve.spread[inner] + 0.02).all()
    assert curve.spread[inner].max() < 0.05


def test_mass_is_shared_out_completely() -> None:
    samples = Samples.of(made_predictions(300))
    assert smooth_curve(samples.confidence, samples.right).mass.sum() == pytest.approx(300)
