"""Platt scaling, one class against the rest (Platt, Advances in Large Margin Classifiers 1999).

    g_c = σ(a_c l_c + b_c),     l_c = ln q_c / (1 − q_c),   q = softmax(z),     p_c = g_c / Σ_j g_j

with a_c, b_c by logistic regression on smoothed targets. As in the paper for two classes, where l
is the difference of the logits; more classes one by one, normalized (Zadrozny & Elkan, KDD 2002).
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float, Shaped

from mixcal.judging.rescaling.fitting_data import fitting_data, logits_of
from mixcal.judging.rescaling.logistic import fit_logistic, smoothed_targets
from mixcal.judging.rescaling.odds import Odds
from mixcal.judging.rescaling.one_vs_rest import from_log_probs


@dataclass(frozen=True, slots=True, kw_only=True)
class Platt:
    """A sigmoid a class. It may change predicted labels."""

    slopes: Float[np.ndarray, " k"]
    offsets: Float[np.ndarray, " k"]

    @classmethod
    def fit(cls, logits: Shaped[np.ndarray, "..."], labels: Shaped[np.ndarray, "..."]) -> Self:
        """From held-out logits."""
        scores, classes = fitting_data(logits, labels)
        odds = Odds.of(scores)
        found = np.array(
            [
                fit_logistic(odds.log_odds(c)[:, None], smoothed_targets(classes == c))
                for c in range(scores.shape[1])
            ]
        )
        return cls(slopes=found[:, 0], offsets=found[:, 1])

    def transform(self, logits: Shaped[np.ndarray, "..."]) -> Float[np.ndarray, "n k"]:
        """Probabilities."""
        return from_log_probs(logits_of(logits, len(self.slopes)), self._log_sigmoid)

    def _log_sigmoid(self, odds: Odds, c: int) -> Float[np.ndarray, " n"]:
        return -np.logaddexp(0, -(self.slopes[c] * odds.log_odds(c) + self.offsets[c]))
