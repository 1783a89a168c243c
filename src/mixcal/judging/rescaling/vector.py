"""Vector scaling (Guo et al., ICML 2017; arXiv:1706.04599v2, section 4.2).

    p = softmax(w ∘ z + b),     w, b = argmin of the mean log loss on held-out data

Differs from the paper: `penalty` · Σ (w T − 1)² + b² is added, which is small enough not to matter
where the data decide, and gives the optimum that otherwise does not exist where a class is missing
or all are told apart. T is the temperature, so the penalty pulls towards temperature scaling.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float, Shaped

from mixcal.core.errors import BadInput
from mixcal.core.predictions import softmax
from mixcal.judging.rescaling.fitting_data import by_blocks, fitting_data
from mixcal.judging.rescaling.scale import scale_of
from mixcal.judging.rescaling.softmax_regression import EACH, Problem, minimized


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorScaling:
    """One factor and one offset a class. It may change predicted labels."""

    weights: Float[np.ndarray, " k"]
    offsets: Float[np.ndarray, " k"]
    penalty: float

    @classmethod
    def fit(
        cls,
        logits: Shaped[np.ndarray, "..."],
        labels: Shaped[np.ndarray, "..."],
        *,
        penalty: float = 1e-6,
    ) -> Self:
        """From held-out logits."""
        scores, classes = fitting_data(logits, labels)
        if not penalty > 0:
            raise BadInput(f"penalty is {penalty}; it must be above 0, for example 1e-6.")
        scale = scale_of(scores, classes)
        start = np.stack([np.ones(scores.shape[1]), np.zeros(scores.shape[1])])
        problem = Problem(
            map=EACH,
            inputs=scores,
            scale=scale,
            labels=classes,
            penalties=np.full_like(start, penalty),
            center=start,
        )
        theta = minimized(problem, start)
        return cls(weights=theta[0] / scale, offsets=theta[1], penalty=float(penalty))

    def transform(self, logits: Shaped[np.ndarray, "..."]) -> Float[np.ndarray, "n k"]:
        """Probabilities."""
        return by_blocks(
            logits, len(self.weights), lambda z: softmax(z * self.weights + self.offsets)
        )
