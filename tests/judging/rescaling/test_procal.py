"""ProCal's density ratio against worked numbers, a slow loop over kernels, and its traps."""

import numpy as np
import pytest
from scipy.stats import norm

from mixcal.judging.rescaling.procal import ProCal, density, posterior


def test_worked_numbers() -> None:
    found = posterior(np.array([0.8]), np.array([0.5]), 0.3 / 0.7)
    assert found[0] == pytest.approx(0.788732, abs=5e-7)
    assert np.isnan(posterior(np.array([1e-12]), np.array([0.0]), 0.5)[0])


def test_density_by_the_book() -> None:
    generator = np.random.default_rng(0)
    samples, points = generator.random((30, 2)), generator.random((9, 2))
    width = [1.06 * np.std(samples[:, j]) * 30 ** (-1 / 6) for j in range(2)]
    expected = [
        np.mean([np.prod([norm.pdf(p[j], s[j], width[j]) for j in range(2)]) for s in samples])
        for p in points
    ]
    assert np.allclose(density(points, samples), expected, rtol=1e-12)


def crowded(n: int, seed: int):
    """Two groups of equal confidence: near ones are right 95 times in 100, far ones 55 times."""
    generator = np.random.default_rng(seed)
    far = generator.random(n) < 0.4
    z = np.zeros((n, 3))
    z[:, 0] = generator.normal(2.0, 0.3, n)
    right = generator.random(n) < np.where(far, 0.55, 0.95)
    features = generator.standard_normal((n, 4)) * np.where(far, 2.0, 0.2)[:, None]
    return z, np.where(right, 0, 1), features, far


def test_far_samples_are_trusted_less() -> None:
    held, test = crowded(1500, 0), crowded(1500, 1)
    fitted = ProCal.fit(*held[:2], features=held[2])
    confidence = fitted.transform(test[0], features=test[2])[:, 0]
    assert confidence[~test[3]].mean() == pytest.approx(0.95, abs=0.03)
    assert confidence[test[3]].mean() == pytest.approx(0.55, abs=0.05)


def test_outside_everything_seen_the_confidence_stays() -> None:
    around = np.random.default_rng(0).normal(0, 0.01, (20, 2))
    fitted = ProCal(
        right=np.array([0.8, 0.5]) + around,
        wrong=np.array([0.5, 0.3]) + around,
        reference=np.zeros((10, 2)),
        neighbors=10,
        variant="paper",
        classes=2,
    )
    q = np.array([[0.8, 0.2], [0.5001, 0.4999], [0.99, 0.01]])
    distances = -np.log(np.array([0.5, 0.3, 0.9]))
    probs = fitted.transform(np.log(q), features=np.outer(distances, [0.6, 0.8]))
    assert np.allclose(probs[:, 0], [1, 0.5, 0.99], atol=1e-4)


def test_without_wrong_samples_nothing_changes() -> None:
    z, _, features, _ = crowded(50, 3)
    with pytest.warns(UserWarning, match="50 right and 0 wrong samples"):
        fitted = ProCal.fit(z, z.argmax(1), features=features)
    plain = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    assert np.allclose(fitted.transform(z, features=features), plain)
