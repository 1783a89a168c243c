"""Beta calibration against scikit-learn's logistic regression on ln q and −ln(1 − q)."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from mixcal.judging.rescaling.beta import Beta
from mixcal.judging.rescaling.logistic import smoothed_targets


def bent(n: int, seed: int, a: float, b: float):
    """Two classes; the odds are 2 q^a / (1 − q)^b of the reported q."""
    generator = np.random.default_rng(seed)
    q = generator.beta(0.8, 0.8, n).clip(1e-6, 1 - 1e-6)
    truth = 1 / (1 + np.exp(-(a * np.log(q) - b * np.log(1 - q) + np.log(2))))
    labels = (generator.random(n) < truth).astype(int)
    return np.stack([np.log(1 - q), np.log(q)], axis=1), labels, q


def weighted_logistic(features: np.ndarray, positive: np.ndarray) -> np.ndarray:
    targets = smoothed_targets(positive)
    fit = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(
        np.concatenate([features, features]),
        np.repeat([1, 0], len(features)),
        sample_weight=np.concatenate([targets, 1 - targets]),
    )
    return np.append(fit.coef_[0], fit.intercept_)


def test_the_fit_is_logistic_regression() -> None:
    z, labels, q = bent(500, 0, 0.5, 0.8)
    fitted = Beta.fit(z, labels)
    theirs = weighted_logistic(np.stack([np.log(q), -np.log(1 - q)], axis=1), labels == 1)
    assert np.allclose([*fitted.exponents[:, 1], fitted.offsets[1]], theirs, rtol=1e-5)
    # The other class is the same curve seen from the other side.
    assert np.allclose(fitted.exponents[::-1, 0], fitted.exponents[:, 1], rtol=1e-6)
    s = theirs[0] * np.log(q) - theirs[1] * np.log(1 - q) + theirs[2]
    assert np.allclose(fitted.transform(z)[:, 1], 1 / (1 + np.exp(-s)), atol=1e-6)


def test_known_exponents() -> None:
    z, labels, _ = bent(60_000, 1, 0.4, 1.2)
    fitted = Beta.fit(z, labels)
    assert fitted.exponents[:, 1].tolist() == pytest.approx([0.4, 1.2], abs=0.1)
    assert fitted.offsets[1] == pytest.approx(np.log(2), abs=0.1)


def test_exponents_are_never_negative_and_then_the_best() -> None:
    z, labels, q = bent(400, 2, -0.4, 1.5)
    fitted = Beta.fit(z, labels)
    assert fitted.exponents[0, 1] == 0
    theirs = weighted_logistic(-np.log(1 - q)[:, None], labels == 1)
    assert fitted.exponents[1, 1] == pytest.approx(theirs[0], rel=1e-5)
    backwards = Beta.fit(z, 1 - labels)
    assert (backwards.exponents >= 0).all()
    rising = np.argsort(q)
    assert (np.diff(fitted.transform(z)[rising, 1]) >= -1e-12).all()
