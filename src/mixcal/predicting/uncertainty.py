"""How much members disagree: total uncertainty parted into what they share and what they do not.

    H(mean p) = mean H(p) + I        (total = expected entropy + mutual information)

in nats (Depeweg et al., ICML 2018; arXiv:1710.07283). The expected entropy is doubt that every
member has; the mutual information is what more data or training would settle.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertainty:
    """Entropies of each sample, in nats."""

    total: Float[np.ndarray, " n"]
    expected: Float[np.ndarray, " n"]

    @classmethod
    def of(cls, members: Float[np.ndarray, "m n k"]) -> Self:
        """From the probabilities of every member."""
        wide = members.astype(np.float64)
        return cls(total=entropy(wide.mean(0)), expected=entropy(wide).mean(0))

    @property
    def mutual_information(self) -> Float[np.ndarray, " n"]:
        """What the members do not agree on; never negative."""
        return np.maximum(self.total - self.expected, 0)


def entropy(probs: Float[np.ndarray, "*n k"]) -> Float[np.ndarray, "*n"]:
    """− Σ p ln p, where 0 ln 0 = 0."""
    return -(probs * np.log(np.where(probs > 0, probs, 1))).sum(-1)
