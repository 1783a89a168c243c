"""Ensemble temperature scaling (Zhang, Kailkhura & Han, ICML 2020; arXiv:2003.07329v2).

    p = w₁ softmax(z / T) + w₂ softmax(z) + w₃ / k,     w ≥ 0,  w₁ + w₂ + w₃ = 1

First T by log loss, then w with T held, as in the paper's code; both problems are convex. `nll`
minimizes the log loss of w, `brier` the squared error, which is the code's default.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float, Int, Shaped

from mixcal.core.errors import BadInput
from mixcal.core.predictions import softmax
from mixcal.judging.rescaling.fitting_data import blocks, by_blocks, fitting_data
from mixcal.judging.rescaling.simplex import lowest_on_simplex
from mixcal.judging.rescaling.temperature import Temperature

CRITERIA = ("nll", "brier")
MOST_STEPS = 100
MOST_EVEN = 1 - 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleTemperature:
    """The shares of scaled, plain and even probabilities. It keeps every predicted label."""

    temperature: float
    scaled: float
    plain: float
    even: float
    classes: int

    @classmethod
    def fit(
        cls,
        logits: Shaped[np.ndarray, "..."],
        labels: Shaped[np.ndarray, "..."],
        *,
        criterion: str = "nll",
    ) -> Self:
        """From held-out logits."""
        if criterion not in CRITERIA:
            raise BadInput(f"criterion is {criterion!r}; it is one of {', '.join(CRITERIA)}.")
        scores, classes = fitting_data(logits, labels)
        temperature = Temperature.fit(scores, classes).temperature
        if criterion == "nll":
            w = _by_log_loss(scores, classes, temperature)
        else:
            w = _by_squares(scores, classes, temperature)
        # Even probabilities alone would tie all classes, and forget which one was predicted.
        w[1:] += np.array([1, -1]) * max(float(w[2]) - MOST_EVEN, 0.0)
        return cls(
            temperature=temperature,
            scaled=float(w[0]),
            plain=float(w[1]),
            even=float(w[2]),
            classes=scores.shape[1],
        )

    def transform(self, logits: Shaped[np.ndarray, "..."]) -> Float[np.ndarray, "n k"]:
        """Probabilities."""
        return by_blocks(logits, self.classes, self._mixed)

    def _mixed(self, z: Float[np.ndarray, "r k"]) -> Float[np.ndarray, "r k"]:
        parts = _components(z, self.temperature)
        return self.scaled * parts[0] + self.plain * parts[1] + self.even * parts[2]


def _components(z: Float[np.ndarray, "r k"], temperature: float) -> Float[np.ndarray, "3 r k"]:
    shifted = z - z.max(1, keepdims=True)
    return np.stack(
        [softmax(shifted / temperature), softmax(shifted), np.full(z.shape, 1 / z.shape[1])]
    )


def _by_log_loss(
    logits: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"], temperature: float
) -> Float[np.ndarray, " 3"]:
    """Newton's method on the simplex: the true class's probability is linear in w."""
    own = np.empty((len(labels), 3))
    for part in blocks(*logits.shape):
        parts = _components(logits[part].astype(np.float64), temperature)
        own[part] = parts[:, np.arange(parts.shape[1]), labels[part]].T
    w = np.full(3, 1 / 3)
    for _ in range(MOST_STEPS):
        ratios = own / (own @ w)[:, None]
        gradient, hessian = -ratios.mean(0), ratios.T @ ratios / len(own)
        step = lowest_on_simplex(hessian, gradient - hessian @ w) - w
        expected, size = -float(gradient @ step), 1.0
        if expected < 1e-15:
            break
        value = _mean_loss(own, w)
        while _mean_loss(own, w + size * step) > value - 1e-4 * size * expected and size > 1e-10:
            size /= 2
        w = w + size * step
    return w


def _mean_loss(own: Float[np.ndarray, "n 3"], w: Float[np.ndarray, " 3"]) -> float:
    with np.errstate(divide="ignore"):
        return -float(np.log(own @ w).mean())


def _by_squares(
    logits: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"], temperature: float
) -> Float[np.ndarray, " 3"]:
    """The mean squared error is a parabola in w."""
    hessian, linear = np.zeros((3, 3)), np.zeros(3)
    for part in blocks(*logits.shape):
        parts = _components(logits[part].astype(np.float64), temperature)
        linear -= parts[:, np.arange(parts.shape[1]), labels[part]].sum(1)
        flat = parts.reshape(3, -1)
        hessian += flat @ flat.T
    return lowest_on_simplex(hessian / len(labels), linear / len(labels))
