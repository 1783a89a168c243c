"""Vector scaling against a slow loop minimized by scipy, and a model whose factors are known."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mixcal.core.errors import BadInput
from mixcal.judging.rescaling.vector import VectorScaling


def skewed(n: int, k: int, seed: int):
    """Labels from softmax(w z + b) of what the model reports."""
    generator = np.random.default_rng(seed)
    z = generator.standard_normal((n, k)) * 3
    weights, offsets = np.linspace(0.3, 0.8, k), np.linspace(-0.5, 0.5, k)
    labels = (weights * z + offsets + generator.gumbel(size=(n, k))).argmax(1)
    return z, labels, weights, offsets


def slow_loss(flat: np.ndarray, z: np.ndarray, labels: np.ndarray) -> float:
    weights, offsets = flat.reshape(2, -1)
    total = 0.0
    for row, y in zip(z, labels, strict=True):
        s = weights * row + offsets
        total += np.log(np.exp(s - s.max()).sum()) + s.max() - s[y]
    return total / len(z)


def test_the_optimum() -> None:
    z, labels, _, _ = skewed(150, 3, 0)
    fitted = VectorScaling.fit(z, labels, penalty=1e-12)
    found = minimize(slow_loss, np.r_[np.ones(3), np.zeros(3)], args=(z, labels), tol=1e-12)
    assert slow_loss(np.r_[fitted.weights, fitted.offsets], z, labels) <= found.fun + 1e-12
    assert np.allclose(fitted.weights, found.x[:3], atol=1e-4)
    # Offsets are known up to a number added to all of them.
    assert np.allclose(fitted.offsets - fitted.offsets[0], found.x[3:] - found.x[3], atol=1e-4)


def test_known_factors_are_found() -> None:
    z, labels, weights, offsets = skewed(40_000, 4, 1)
    fitted = VectorScaling.fit(z.astype(np.float32), labels)
    assert np.allclose(fitted.weights, weights, atol=0.03)
    assert np.allclose(fitted.offsets - fitted.offsets.mean(), offsets, atol=0.06)
    s = z[:5] * fitted.weights + fitted.offsets
    assert np.allclose(
        fitted.transform(z[:5]), np.exp(s) / np.exp(s).sum(1, keepdims=True), atol=1e-12
    )


def test_a_missing_class_has_an_optimum_and_units_do_not_matter() -> None:
    z, labels, _, _ = skewed(300, 3, 2)
    z, labels = z[labels < 2], labels[labels < 2]
    fitted = VectorScaling.fit(z, labels)
    assert np.isfinite(fitted.offsets).all()
    assert 0 < fitted.transform(z)[:, 2].max() < 0.05
    large = VectorScaling.fit(1e6 * z, labels)
    assert np.allclose(large.transform(1e6 * z), fitted.transform(z), atol=1e-8)


def test_a_large_penalty_leaves_temperature_scaling() -> None:
    from mixcal.judging.rescaling.temperature import Temperature

    z, labels, _, _ = skewed(300, 3, 3)
    held = VectorScaling.fit(z, labels, penalty=1e9)
    assert np.allclose(held.transform(z), Temperature.fit(z, labels).transform(z), atol=1e-6)
    with pytest.raises(BadInput, match="penalty is 0"):
        VectorScaling.fit(z, labels, penalty=0)
