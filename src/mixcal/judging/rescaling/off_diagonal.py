"""Off-diagonal and intercept regularization, ODIR (Kull et al., NeurIPS 2019; arXiv:1910.12656v1).

    mean −ln softmax(W x + b)_y + λ / (k (k − 1)) Σ_{i ≠ j} (T W_ij)² + μ / k Σ_j b_j²

The paper chooses λ and μ by cross-validation; so does `penalized` where they are not given, with
μ = λ. Differs from the paper: the temperature T is in the penalty, so that it does not matter in
which unit logits are given; 10⁻⁶ (‖T W − 1‖² + ‖b‖²) is added, so that there is an optimum where
all samples are told apart; one fit on everything takes the place of the mean of the folds' fits.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from mixcal.core.errors import BadInput
from mixcal.judging.rescaling.fitting_data import fold_of
from mixcal.judging.rescaling.softmax_regression import ALL, Problem, minimized

# From the strongest; the search ends where the held-out loss begins to rise.
STRENGTHS = (10.0, 1.0, 0.1, 1e-2, 1e-3, 1e-4)
FOLDS = 3
ALWAYS = 1e-6


@dataclass(frozen=True, slots=True)
class Penalized:
    """The map and how strongly it was held back."""

    weights: Float[np.ndarray, "k k"]
    offsets: Float[np.ndarray, " k"]
    penalty: float
    offset_penalty: float


def penalized(
    x: Float[np.ndarray, "n k"],
    labels: Int[np.ndarray, " n"],
    *,
    scale: float,
    penalty: float | None,
    offset_penalty: float | None,
) -> Penalized:
    """Fit W and b on x; λ is `penalty`, μ is `offset_penalty` (None: as λ)."""
    for name, value in (("penalty", penalty), ("offset_penalty", offset_penalty)):
        if value is not None and not 0 <= value < np.inf:
            raise BadInput(f"{name} is {value}; it must not be negative, for example 0.01.")
    strength = _chosen(x, labels, scale, offset_penalty) if penalty is None else penalty
    other = strength if offset_penalty is None else offset_penalty
    theta = minimized(_problem(x, labels, scale, strength, other), _unchanged(x.shape[1]))
    return Penalized(theta[:-1].T / scale, theta[-1], float(strength), float(other))


def _chosen(
    x: Float[np.ndarray, "n k"],
    labels: Int[np.ndarray, " n"],
    scale: float,
    offset_penalty: float | None,
) -> float:
    """The strength with the lowest cross-validated log loss; the strongest of equals."""
    if len(labels) < FOLDS:
        return STRENGTHS[0]
    fold = fold_of(labels, folds=FOLDS)
    starts = [_unchanged(x.shape[1])] * FOLDS
    best, lowest = STRENGTHS[0], np.inf
    for strength in STRENGTHS:
        other = strength if offset_penalty is None else offset_penalty
        loss = 0.0
        for out in range(FOLDS):
            kept, held = fold != out, fold == out
            problem = _problem(x[kept], labels[kept], scale, strength, other)
            starts[out] = minimized(problem, starts[out])
            loss += replace(problem, inputs=x[held], labels=labels[held]).loss(starts[out])
        if loss >= lowest:
            break
        best, lowest = strength, loss
    return best


def _problem(
    x: Float[np.ndarray, "n k"],
    labels: Int[np.ndarray, " n"],
    scale: float,
    strength: float,
    offset_strength: float,
) -> Problem:
    k = x.shape[1]
    penalties = np.empty((k + 1, k))
    penalties[:k] = strength / (k * (k - 1))
    penalties[k] = offset_strength / k
    penalties[np.arange(k), np.arange(k)] = 0
    return Problem(
        map=ALL,
        inputs=x,
        scale=scale,
        labels=labels,
        penalties=penalties + ALWAYS,
        center=_unchanged(k),
    )


def _unchanged(k: int) -> Float[np.ndarray, "rows k"]:
    return np.concatenate([np.eye(k), np.zeros((1, k))])
