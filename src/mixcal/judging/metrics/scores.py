"""Proper scores: how good the probabilities are as a whole, one value per sample.

log loss      −log p_y                      Brier score   Σ_k (p_k − 1[k = y])²
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from mixcal.judging.metrics.reliability import Reliability

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


@dataclass(frozen=True, slots=True)
class BrierParts:
    """Brier score = reliability − resolution + uncertainty + what lies within the bins."""

    reliability: float
    resolution: float
    uncertainty: float
    within: float

    @property
    def score(self) -> float:
        """The sum of the parts."""
        return self.reliability - self.resolution + self.uncertainty + self.within


def brier_decomposition(
    confidence: Float[np.ndarray, " n"], right: Bool[np.ndarray, " n"], *, bins: int = 15
) -> BrierParts:
    """Murphy's decomposition of the top-label Brier score over bins of confidence.

    (Murphy, Journal of Applied Meteorology 1973; the part within bins as in Stephenson, Coelho and
    Jolliffe, Weather and Forecasting 2008.) With r the gap, a the accuracy of a bin and c its
    confidences: reliability Σ share r², resolution Σ share (a − accuracy)², uncertainty
    accuracy (1 − accuracy), within Σ share (var c − 2 cov(c, right)).
    """
    sums = Reliability.of_confidence(confidence, right, bins=bins)
    counts = np.maximum(sums.counts, 1)
    overall = sums.accuracy()
    variance = sums.confidence_squared / counts - sums.confidences**2
    covariance = sums.confidence_of_right / counts - sums.confidences * sums.accuracies
    return BrierParts(
        reliability=sums.squared_error(),
        resolution=float((sums.shares * (sums.accuracies - overall) ** 2).sum()),
        uncertainty=overall * (1 - overall),
        within=float((sums.shares * (variance - 2 * covariance)).sum()),
    )
