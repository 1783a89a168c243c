"""Isotonic regression, one class against the rest (Zadrozny & Elkan, KDD 2002).

    p_c = g_c(q_c) / Σ_j g_j(q_j),   q = softmax(z),   g_c rising, nearest to 1[y = c]

As in the paper; between the samples g is interpolated. Differs from the paper: a class that has no
sample among the held-out ones keeps its q, for nothing is known of it.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float, Int, Shaped

from mixcal.judging.rescaling.fitting_data import fitting_data, logits_of
from mixcal.judging.rescaling.monotone import RisingCurve
from mixcal.judging.rescaling.odds import Odds
from mixcal.judging.rescaling.one_vs_rest import from_probs


@dataclass(frozen=True, slots=True, kw_only=True)
class Isotonic:
    """A rising curve a class: the points of class c end before `ends[c]`."""

    scores: Float[np.ndarray, " m"]
    values: Float[np.ndarray, " m"]
    ends: Int[np.ndarray, " k"]

    @classmethod
    def fit(cls, logits: Shaped[np.ndarray, "..."], labels: Shaped[np.ndarray, "..."]) -> Self:
        """From held-out logits."""
        scores, classes = fitting_data(logits, labels)
        odds = Odds.of(scores)
        present = np.bincount(classes, minlength=scores.shape[1]) > 0
        curves = [
            RisingCurve.fit(odds.probs(c), classes == c) if present[c] else UNCHANGED
            for c in range(scores.shape[1])
        ]
        return cls(
            scores=np.concatenate([curve.scores for curve in curves]),
            values=np.concatenate([curve.values for curve in curves]),
            ends=np.cumsum([len(curve.scores) for curve in curves]),
        )

    def transform(self, logits: Shaped[np.ndarray, "..."]) -> Float[np.ndarray, "n k"]:
        """Probabilities."""
        return from_probs(logits_of(logits, len(self.ends)), self._column)

    def curve(self, c: int) -> RisingCurve:
        """That of class c."""
        mine = slice(int(self.ends[c - 1]) if c else 0, int(self.ends[c]))
        return RisingCurve(self.scores[mine], self.values[mine])

    def _column(self, odds: Odds, c: int) -> Float[np.ndarray, " n"]:
        return self.curve(c).at(odds.probs(c))


UNCHANGED = RisingCurve(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
