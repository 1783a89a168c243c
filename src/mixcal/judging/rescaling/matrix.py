"""Matrix scaling (Guo et al., ICML 2017; arXiv:1706.04599v2, section 4.2), with ODIR.

    p = softmax(W z + b),     W, b = argmin of the mean log loss on held-out data

Differs from the paper: off-diagonal weights and offsets are held back (ODIR, see off_diagonal.py),
for without it k² numbers follow the held-out labels wherever they go. `penalty=0` is the paper's.
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
class MatrixScaling:
    """A matrix and an offset. It may change predicted labels."""

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
            scores,
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
            logits, len(self.offsets), lambda z: softmax(z @ self.weights.T + self.offsets)
        )
