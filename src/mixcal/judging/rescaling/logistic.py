"""Logistic regression of few features on soft targets, to the optimum.

    w, b = argmin  mean ln(1 + exp s) − t s,      s = x w + b

With targets inside (0, 1) there always is an optimum. Features that do not vary, or not
independently, get the smallest weights that reach it.
"""

import numpy as np
from jaxtyping import Bool, Float

MOST_STEPS = 100
# Of the standardized features' weights; decides only between equals.
RIDGE = 1e-10


def fit_logistic(
    features: Float[np.ndarray, "n d"], targets: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " w"]:
    """The weights, then the intercept; by Newton's method with steps that must pay."""
    center = features.mean(0)
    spread = np.abs(features - center).max(0)
    spread = np.where(spread > 0, spread, 1.0)
    x = np.concatenate([(features - center) / spread, np.ones((len(features), 1))], axis=1)
    deviation = np.sqrt((x[:, :-1] ** 2).mean(0))
    x[:, :-1] /= np.where(deviation > 0, deviation, 1.0)
    spread *= np.where(deviation > 0, deviation, 1.0)
    w = np.zeros(x.shape[1])
    w[-1] = np.log(targets.mean() / (1 - targets.mean()))
    value = _loss(x, targets, w)
    for _ in range(MOST_STEPS):
        s = x @ w
        p = np.exp(-np.logaddexp(0, -s))
        gradient = x.T @ (p - targets) / len(x) + RIDGE * w
        hessian = (x.T * (p * (1 - p))) @ x / len(x) + RIDGE * np.eye(len(w))
        step = -np.linalg.solve(hessian, gradient)
        expected = -float(gradient @ step)
        size = 1.0
        while expected > 1e-10 and size > 1e-8:
            if _loss(x, targets, w + size * step) <= value - 1e-4 * size * expected:
                break
            size /= 2
        w = w + size * step
        value = _loss(x, targets, w)
        if expected < 1e-20:
            break
    slopes = w[:-1] / spread
    return np.append(slopes, w[-1] - slopes @ center)


def smoothed_targets(positive: Bool[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Platt's: (N₊ + 1) / (N₊ + 2) for positives, 1 / (N₋ + 2) for negatives."""
    n = len(positive)
    ones = int(positive.sum())
    return np.where(positive, (ones + 1) / (ones + 2), 1 / (n - ones + 2))


def log_loss_of(
    features: Float[np.ndarray, "n d"],
    targets: Float[np.ndarray, " n"],
    weights: Float[np.ndarray, " w"],
) -> float:
    """The mean loss of weights and intercept."""
    s = features @ weights[:-1] + weights[-1]
    return float((np.logaddexp(0, s) - targets * s).mean())


def _loss(
    x: Float[np.ndarray, "n d"], targets: Float[np.ndarray, " n"], w: Float[np.ndarray, " w"]
) -> float:
    s = x @ w
    return float((np.logaddexp(0, s) - targets * s).mean() + RIDGE / 2 * (w @ w))
