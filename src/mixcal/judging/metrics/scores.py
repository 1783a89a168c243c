"""Proper scores: how good the probabilities are as a whole, one value per sample.

log loss      −log p_y                      Brier score   Σ_k (p_k − 1[k = y])²
"""

from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

Scale = Literal["sum", "half", "mean"]


def log_losses(
    logits: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """−log p of the true class of each sample, from logits; infinite where p is zero."""
    wide = logits.astype(np.float64)
    wide -= wide.max(1, keepdims=True)
    own = wide[np.arange(len(wide)), labels]
    return np.log(np.exp(wide, out=wide).sum(1)) - own


def log_losses_of_probs(
    probs: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"], *, floor: float = 0.0
) -> Float[np.ndarray, " n"]:
    """−log p of the true class, from probabilities; a `floor` clips as some packages do."""
    own = probs[np.arange(len(probs)), labels].astype(np.float64)
    with np.errstate(divide="ignore"):
        return -np.log(np.clip(own, floor, None))


def brier_scores(
    probs: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"], *, scale: Scale = "sum"
) -> Float[np.ndarray, " n"]:
    """Σ_k (p_k − 1[k = y])² of each sample, half of it, or its mean over the classes."""
    wide = probs.astype(np.float64)
    own = wide[np.arange(len(wide)), labels]
    score = np.einsum("nk,nk->n", wide, wide) - own**2 + (1 - own) ** 2
    return score / {"sum": 1, "half": 2, "mean": probs.shape[1]}[scale]


def top_label_brier_scores(
    confidence: Float[np.ndarray, " n"], right: Bool[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """(confidence − right)² of each sample."""
    return (confidence.astype(np.float64) - right) ** 2


def top_k_right(
    scores: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"], *, k: int
) -> Bool[np.ndarray, " n"]:
    """Whether fewer than k classes score above the true one; of equals the earlier class wins."""
    own = scores[np.arange(len(scores)), labels][:, None]
    earlier = np.arange(scores.shape[1]) < labels[:, None]
    return ((scores > own) | ((scores == own) & earlier)).sum(1) < k
