"""Isotonic regression of the confidence alone (Zadrozny & Elkan, KDD 2002, for two classes).

    p_ŷ = g(q_ŷ),   ŷ = argmax q,   q = softmax(z),   g rising, nearest to 1[y = ŷ]

One g serves all predicted classes (confidence calibration in the words of Gupta & Ramdas, ICLR
2022; arXiv:2107.08353v4), and the other classes share the rest so that ŷ stays the prediction
(top_label.py).
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float, Shaped

from mixcal.judging.rescaling.fitting_data import fitting_data, logits_of
from mixcal.judging.rescaling.monotone import RisingCurve
from mixcal.judging.rescaling.odds import Odds
from mixcal.judging.rescaling.top_label import with_confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class TopIsotonic:
    """A rising curve of confidences. It keeps every predicted label."""

    scores: Float[np.ndarray, " m"]
    values: Float[np.ndarray, " m"]
    classes: int

    @classmethod
    def fit(cls, logits: Shaped[np.ndarray, "..."], labels: Shaped[np.ndarray, "..."]) -> Self:
        """From held-out logits."""
        scores, classes = fitting_data(logits, labels)
        odds = Odds.of(scores)
        curve = RisingCurve.fit(odds.top_probs(), odds.top == classes)
        return cls(scores=curve.scores, values=curve.values, classes=scores.shape[1])

    def transform(self, logits: Shaped[np.ndarray, "..."]) -> Float[np.ndarray, "n k"]:
        """Probabilities."""
        odds = Odds.of(logits_of(logits, self.classes))
        return with_confidence(odds, RisingCurve(self.scores, self.values).at(odds.top_probs()))
