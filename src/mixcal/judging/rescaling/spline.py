"""Spline calibration of the confidence (Gupta et al., ICLR 2021; arXiv:2006.12800v2).

    h(i / n) = (1 / n) Σ_{j ≤ i} 1[y_j = ŷ_j] − c_j     samples in the order of their confidence c
    p_ŷ(c_i) = c_i + s′(i / n),     s the natural cubic spline nearest to h by least squares

As in the paper: six knots. Differs from the paper's code: h also has its point 0 at 0, equal
confidences share the mean of their hits and of their values, and between samples the value is
interpolated with the weights the right way round. The result is cut to [0, 1] and the other classes
share the rest so that ŷ stays the prediction (top_label.py).
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float, Shaped

from mixcal.core.errors import BadInput
from mixcal.judging.rescaling.fitting_data import fitting_data, logits_of
from mixcal.judging.rescaling.odds import Odds
from mixcal.judging.rescaling.top_label import with_confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Spline:
    """Confidences in order and what becomes of them. It keeps every predicted label."""

    scores: Float[np.ndarray, " m"]
    values: Float[np.ndarray, " m"]
    classes: int

    @classmethod
    def fit(
        cls,
        logits: Shaped[np.ndarray, "..."],
        labels: Shaped[np.ndarray, "..."],
        *,
        knots: int = 6,
    ) -> Self:
        """From held-out logits."""
        if knots < 2:
            raise BadInput(f"{knots} knots were asked for; give at least two.")
        scores, classes = fitting_data(logits, labels)
        odds = Odds.of(scores)
        points, place, counts = np.unique(odds.top_probs(), return_inverse=True, return_counts=True)
        right = np.bincount(place, weights=odds.top == classes) / counts
        slopes = _slopes(np.repeat(right - points, counts), knots)
        slope = np.bincount(np.repeat(np.arange(len(points)), counts), weights=slopes) / counts
        values = np.clip(points + slope, 0, 1)
        return cls(scores=points, values=values, classes=scores.shape[1])

    def transform(self, logits: Shaped[np.ndarray, "..."]) -> Float[np.ndarray, "n k"]:
        """Probabilities."""
        odds = Odds.of(logits_of(logits, self.classes))
        return with_confidence(odds, np.interp(odds.top_probs(), self.scores, self.values))


def _slopes(gaps: Float[np.ndarray, " n"], knots: int) -> Float[np.ndarray, " n"]:
    """The smoothed gap between accuracy and confidence, sample by sample."""
    from scipy.interpolate import CubicSpline

    n = len(gaps)
    height = np.concatenate([[0.0], np.cumsum(gaps) / n])
    t = np.arange(n + 1) / n
    at = np.linspace(0, 1, min(knots, n + 1))
    # One spline a knot, one there and zero at the others: any natural spline is their sum.
    basis = CubicSpline(at, np.eye(len(at)), bc_type="natural")
    weights = np.linalg.lstsq(basis(t), height, rcond=None)[0]
    return basis(t[1:], 1) @ weights
