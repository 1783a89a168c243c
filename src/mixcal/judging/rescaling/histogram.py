"""Histogram binning, one class against the rest (Zadrozny & Elkan, ICML 2001; for more classes Guo
et al., ICML 2017; arXiv:1706.04599v2, section 4.1).

    p_c = θ_c(q_c) / Σ_j θ_j(q_j),   q = softmax(z),   θ_c(q) = mean of 1[y = c] in the bin of q

As in the papers: bins are right-closed, of equal mass or of equal width. Differs from them: bins
without samples, and classes without samples, keep q.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Bool, Float, Shaped

from mixcal.core.errors import BadInput
from mixcal.judging.rescaling.fitting_data import fitting_data, logits_of
from mixcal.judging.rescaling.odds import Odds
from mixcal.judging.rescaling.one_vs_rest import from_probs

KINDS = ("equal-mass", "equal-width")


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramBinning:
    """Inner edges and the value of each bin, class by class; NaN where q is kept."""

    edges: Float[np.ndarray, "k e"]
    values: Float[np.ndarray, "k b"]

    @classmethod
    def fit(
        cls,
        logits: Shaped[np.ndarray, "..."],
        labels: Shaped[np.ndarray, "..."],
        *,
        bins: int = 15,
        binning: str = "equal-mass",
    ) -> Self:
        """From held-out logits."""
        if bins < 1:
            raise BadInput(f"{bins} bins were asked for; give at least one.")
        if binning not in KINDS:
            raise BadInput(f"binning is {binning!r}; it is one of {', '.join(KINDS)}.")
        scores, classes = fitting_data(logits, labels)
        odds = Odds.of(scores)
        k = scores.shape[1]
        edges = np.tile(np.linspace(0, 1, bins + 1)[1:-1], (k, 1))
        values = np.empty((k, bins))
        for c in range(k):
            q = odds.probs(c)
            if binning == "equal-mass":
                edges[c] = np.quantile(q, np.linspace(0, 1, bins + 1)[1:-1])
            values[c] = _means(np.searchsorted(edges[c], q), classes == c, bins)
        return cls(edges=edges, values=values)

    def transform(self, logits: Shaped[np.ndarray, "..."]) -> Float[np.ndarray, "n k"]:
        """Probabilities."""
        return from_probs(logits_of(logits, len(self.edges)), self._column)

    def _column(self, odds: Odds, c: int) -> Float[np.ndarray, " n"]:
        q = odds.probs(c)
        value = self.values[c, np.searchsorted(self.edges[c], q)]
        return np.where(np.isnan(value), q, value)


def _means(
    place: Shaped[np.ndarray, " n"], right: Bool[np.ndarray, " n"], bins: int
) -> Float[np.ndarray, " b"]:
    counts = np.bincount(place, minlength=bins)
    sums = np.bincount(place, weights=right, minlength=bins)
    if not right.any():
        return np.full(bins, np.nan)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
