"""Beta calibration, one class against the rest (Kull, Silva Filho & Flach, AISTATS 2017).

    g_c = σ(a_c ln q_c − b_c ln(1 − q_c) + m_c),    a_c, b_c ≥ 0,    q = softmax(z),   p ∝ g

Differs from the paper: targets are smoothed as Platt's are, so that there is an optimum where a
class is missing or told apart; and where a or b would be negative, the best of the fits without
them is taken, which is the optimum under a, b ≥ 0.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float, Shaped

from mixcal.judging.rescaling.fitting_data import fitting_data, logits_of
from mixcal.judging.rescaling.logistic import fit_logistic, log_loss_of, smoothed_targets
from mixcal.judging.rescaling.odds import Odds
from mixcal.judging.rescaling.one_vs_rest import from_log_probs


@dataclass(frozen=True, slots=True, kw_only=True)
class Beta:
    """Two exponents and an offset a class. It may change predicted labels."""

    exponents: Float[np.ndarray, "2 k"]
    offsets: Float[np.ndarray, " k"]

    @classmethod
    def fit(cls, logits: Shaped[np.ndarray, "..."], labels: Shaped[np.ndarray, "..."]) -> Self:
        """From held-out logits."""
        scores, classes = fitting_data(logits, labels)
        odds = Odds.of(scores)
        found = np.array(
            [
                _fit_one(_features(odds.log_odds(c)), smoothed_targets(classes == c))
                for c in range(scores.shape[1])
            ]
        )
        return cls(exponents=found[:, :2].T.copy(), offsets=found[:, 2])

    def transform(self, logits: Shaped[np.ndarray, "..."]) -> Float[np.ndarray, "n k"]:
        """Probabilities."""
        return from_log_probs(logits_of(logits, len(self.offsets)), self._log_sigmoid)

    def _log_sigmoid(self, odds: Odds, c: int) -> Float[np.ndarray, " n"]:
        s = _features(odds.log_odds(c)) @ self.exponents[:, c] + self.offsets[c]
        return -np.logaddexp(0, -s)


def _features(log_odds: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 2"]:
    """ln q and −ln(1 − q)."""
    return np.stack([-np.logaddexp(0, -log_odds), np.logaddexp(0, log_odds)], axis=1)


def _fit_one(
    features: Float[np.ndarray, "n 2"], targets: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " 3"]:
    both = fit_logistic(features, targets)
    if (both[:2] >= 0).all():
        return both
    fits = [_without(features, targets, kept) for kept in ([0], [1], [])]
    allowed = [fit for fit in fits if (fit[:2] >= 0).all()]
    return min(allowed, key=lambda fit: log_loss_of(features, targets, fit))


def _without(
    features: Float[np.ndarray, "n 2"], targets: Float[np.ndarray, " n"], kept: list[int]
) -> Float[np.ndarray, " 3"]:
    """The fit with the other exponents at zero."""
    fit = np.zeros(3)
    fit[[*kept, 2]] = fit_logistic(features[:, kept], targets)
    return fit
