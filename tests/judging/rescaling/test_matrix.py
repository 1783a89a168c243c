"""Matrix scaling against scikit-learn's logistic regression and a slow loop minimized by scipy."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from mixcal.core.errors import BadInput
from mixcal.judging.rescaling.matrix import MatrixScaling
from mixcal.judging.rescaling.temperature import Temperature


def mixed(n: int, k: int, seed: int):
    """Labels from softmax(W z + b) of what the model reports."""
    generator = np.random.default_rng(seed)
    z = generator.standard_normal((n, k)) * 2
    weights = 0.6 * np.eye(k) + 0.3 * np.roll(np.eye(k), 1, axis=1)
    labels = (z @ weights.T + np.linspace(-1, 1, k) + generator.gumbel(size=(n, k))).argmax(1)
    return z, labels


def test_without_penalty_it_is_logistic_regression() -> None:
    z, labels = mixed(400, 3, 0)
    fitted = MatrixScaling.fit(z, labels, penalty=0)
    theirs = LogisticRegression(C=1e9, tol=1e-10, max_iter=5000).fit(z, labels)
    assert np.allclose(fitted.transform(z), theirs.predict_proba(z), atol=2e-4)


def test_the_penalized_optimum() -> None:
    z, labels = mixed(80, 3, 1)
    t = Temperature.fit(z, labels).temperature
    k = 3

    def slow(flat: np.ndarray) -> float:
        weights, offsets = flat[: k * k].reshape(k, k), flat[k * k :]
        total = 0.0
        for row, y in zip(z, labels, strict=True):
            s = np.array([weights[c] @ row + offsets[c] for c in range(k)])
            total += np.log(np.exp(s).sum()) - s[y]
        total /= len(z)
        for i in range(k):
            total += 0.3 * offsets[i] ** 2 / k + 1e-6 * offsets[i] ** 2
            for j in range(k):
                scaled = t * weights[i, j]
                if i != j:
                    total += 0.05 * scaled**2 / (k * (k - 1))
                total += 1e-6 * (scaled - (i == j)) ** 2
        return total

    found = minimize(slow, np.r_[np.eye(k).ravel(), np.zeros(k)], tol=1e-10)
    fitted = MatrixScaling.fit(z, labels, penalty=0.05, offset_penalty=0.3)
    ours = np.r_[fitted.weights.ravel(), fitted.offsets]
    assert slow(ours) <= found.fun + 1e-12
    assert np.allclose(ours, found.x, atol=2e-3)
    assert (fitted.penalty, fitted.offset_penalty) == (0.05, 0.3)


def test_the_penalty_follows_the_data() -> None:
    few, many = mixed(40, 4, 2), mixed(4000, 4, 2)
    assert MatrixScaling.fit(*few).penalty > MatrixScaling.fit(*many).penalty
    test, truth = mixed(4000, 4, 3)
    own = np.arange(4000)
    for held in (few, many):
        chosen = MatrixScaling.fit(*held).transform(test)[own, truth]
        free = MatrixScaling.fit(*held, penalty=0).transform(test)[own, truth]
        assert -np.log(chosen).mean() < -np.log(free).mean() + 1e-3
    one = MatrixScaling.fit(few[0][:1], few[1][:1])
    assert one.penalty == 10
    with pytest.raises(BadInput, match="offset_penalty is -1"):
        MatrixScaling.fit(*few, offset_penalty=-1)
