"""Spline calibration against a spline solved from its defining equations, and a known curve."""

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.judging.rescaling.spline import Spline


def with_top(confidence: np.ndarray, k: int = 3) -> np.ndarray:
    rest = np.repeat((1 - confidence)[:, None] / (k - 1), k - 1, axis=1)
    return np.log(np.concatenate([confidence[:, None], rest], axis=1))


def natural_basis(t: np.ndarray, knots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By the book: second derivatives from M₀ = M_m = 0, M_{i−1} + 4 M_i + M_{i+1} = 6 Δ² / d².

    Returns values and slopes at t of the splines that are one at a knot and zero at the others.
    """
    m, d = len(knots), knots[1] - knots[0]
    system, right = np.eye(m), np.zeros((m, m))
    for i in range(1, m - 1):
        system[i, i - 1 : i + 2] = (1, 4, 1)
        right[i, i - 1 : i + 2] = np.array([1, -2, 1]) * 6 / d**2
    bend = np.linalg.solve(system, right)
    values, slopes = np.empty((len(t), m)), np.empty((len(t), m))
    one = np.eye(m)
    for row, at in enumerate(t):
        j = min(int(at / d), m - 2)
        a, b = (knots[j + 1] - at) / d, (at - knots[j]) / d
        curve = ((a**3 - a) * bend[j] + (b**3 - b) * bend[j + 1]) * d**2 / 6
        values[row] = a * one[j] + b * one[j + 1] + curve
        bent = ((3 * b**2 - 1) * bend[j + 1] - (3 * a**2 - 1) * bend[j]) * d / 6
        slopes[row] = (one[j + 1] - one[j]) / d + bent
    return values, slopes


def test_by_the_book() -> None:
    generator = np.random.default_rng(0)
    n = 200
    confidence = np.sort(generator.uniform(0.4, 0.99, n))
    right = generator.random(n) < confidence**2
    fitted = Spline.fit(with_top(confidence), np.where(right, 0, 1))
    knots = np.linspace(0, 1, 6)
    height = [0.0]
    for c, r in zip(confidence, right, strict=True):
        height.append(height[-1] + (r - c) / n)
    values, _ = natural_basis(np.arange(n + 1) / n, knots)
    weights = np.linalg.lstsq(values, np.array(height), rcond=None)[0]
    _, slopes = natural_basis(np.arange(1, n + 1) / n, knots)
    expected = np.clip(confidence + slopes @ weights, 0, 1)
    assert np.allclose(fitted.scores, confidence, atol=1e-12)
    assert np.allclose(fitted.values, expected, atol=1e-9)


def test_a_known_curve() -> None:
    generator = np.random.default_rng(1)
    confidence = generator.uniform(0.5, 0.99, 40_000)
    right = generator.random(40_000) < confidence**2
    fitted = Spline.fit(with_top(confidence), np.where(right, 0, 1))
    at = np.linspace(0.6, 0.95, 8)
    assert np.allclose(fitted.transform(with_top(at)).max(1), at**2, atol=0.03)


def test_few_samples_and_ties() -> None:
    one = Spline.fit(with_top(np.array([0.7])), np.array([0]))
    assert one.values.tolist() == pytest.approx([1.0])
    ties = Spline.fit(with_top(np.full(10, 0.8)), np.array([0, 1] * 5))
    assert ties.values.tolist() == pytest.approx([0.5])
    with pytest.raises(BadInput, match="1 knots"):
        Spline.fit(with_top(np.array([0.7])), np.array([0]), knots=1)
