"""Dirichlet calibration with ODIR (Kull et al., NeurIPS 2019; arXiv:1910.12656v1, section 3).

    p = softmax(W ln q + b),     q = softmax(z)

As in the paper in its linear form, but for what off_diagonal.py says of the penalties. It is matrix
scaling of log-probabilities, so adding a number to all logits of a sample changes nothing.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float, Shaped

from mixcal.core.predictions import softmax
from mixcal.judging.rescaling.fitting_data import by_blocks, fitting_data
from mixcal.judging.rescaling.off_diagonal import penalized
from mixcal.judging.rescaling.scale import scale_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Dirichlet:
    """A matrix and an offset for log-probabilities. It may change predicted labels."""

    weights: Float[np.ndarray, "k k"]
    offsets: Float[np.ndarray, " k"]
    penalty: float
    offset_penalty: float

    @classmethod
    def fit(
        cls,
        logits: Shaped[np.ndarray, "..."],
        labels: Shaped[np.ndarray, "..."],
        *,
        penalty: float | None = None,
        offset_penalty: float | None = None,
    ) -> Self:
        """From held-out logits; penalties that are not given are chosen by cross-validation."""
        scores, classes = fitting_data(logits, labels)
        found = penalized(
            by_blocks(scores, scores.shape[1], log_probs),
            classes,
            scale=scale_of(scores, classes),
            penalty=penalty,
            offset_penalty=offset_penalty,
        )
        return cls(
            weights=found.weights,
            offsets=found.offsets,
            penalty=found.penalty,
            offset_penalty=found.offset_penalty,
        )

    def transform(self, logits: Shaped[np.ndarray, "..."]) -> Float[np.ndarray, "n k"]:
        """Probabilities."""
        return by_blocks(
            logits,
            len(self.offsets),
            lambda z: softmax(log_probs(z) @ self.weights.T + self.offsets),
        )


def log_probs(logits: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    """ln softmax."""
    shifted = logits - logits.max(1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(1, keepdims=True))
    return shifted
