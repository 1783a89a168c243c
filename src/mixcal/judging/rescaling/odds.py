"""Log-odds of every class: ln p / (1 − p), exact where p is as near to one as floats come.

    z_c − ln Σ_{j ≠ c} exp z_j

What one-versus-rest rescalers read: unlike a logit it does not change when a number is added to all
logits of a sample, and with two classes one is the other's negative.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float, Int

from mixcal.judging.rescaling.fitting_data import blocks, finite_logits


@dataclass(frozen=True, slots=True)
class Odds:
    """Logits, each row's top class, and ln Σ exp z over all classes and over all but the top."""

    logits: Float[np.ndarray, "n k"]
    top: Int[np.ndarray, " n"]
    total: Float[np.ndarray, " n"]
    others: Float[np.ndarray, " n"]

    @classmethod
    def of(cls, logits: Float[np.ndarray, "n k"]) -> Self:
        """Three numbers a row beyond the input."""
        logits = finite_logits(logits)
        n, k = logits.shape
        top = np.empty(n, dtype=np.int64)
        total, others = np.empty(n), np.empty(n)
        for part in blocks(n, k):
            z = logits[part].astype(np.float64)
            first = top[part] = z.argmax(1)
            rows = np.arange(len(z))
            highest = z[rows, first]
            z[rows, first] = -np.inf
            second = z.max(1)
            others[part] = second + np.log(np.exp(z - second[:, None]).sum(1))
            total[part] = np.logaddexp(highest, others[part])
        return cls(logits, top, total, others)

    def log_odds(self, c: int) -> Float[np.ndarray, " n"]:
        """Of class c."""
        z = self.logits[:, c].astype(np.float64)
        below = z - self.total
        with np.errstate(divide="ignore"):
            odds = below - np.log1p(-np.exp(np.minimum(below, 0)))
        return np.where(self.top == c, z - self.others, odds)

    def probs(self, c: int) -> Float[np.ndarray, " n"]:
        """Of class c."""
        return np.exp(np.minimum(self.logits[:, c].astype(np.float64) - self.total, 0))

    def top_probs(self) -> Float[np.ndarray, " n"]:
        """Of each row's top class."""
        highest = self.logits[np.arange(len(self.top)), self.top].astype(np.float64)
        return np.exp(np.minimum(highest - self.total, 0))
