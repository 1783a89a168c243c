"""How the mean log loss of softmax(b z) moves with b = 1 / T; it is convex in b.

    d / db   mean_i ( E_p[z] − z_y )            d² / db²   mean_i Var_p[z]        p = softmax(b z)

Everything is summed over blocks of rows that stay in the cache, in the precision of the logits, and
added up in float64.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float, Int

from mixcal.judging.rescaling.fitting_data import blocks


@dataclass(frozen=True, slots=True)
class Slope:
    """Of the mean log loss at one b: first and second derivative, and the mean squared first."""

    first: float
    second: float
    squared: float


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Logits with each row's largest one and how far the true class lies below it (≤ 0)."""

    logits: Float[np.ndarray, "n k"]
    top: Float[np.ndarray, " n"]
    own: Float[np.ndarray, " n"]

    @classmethod
    def of(cls, logits: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"]) -> Self:
        """Two numbers a row beyond the input."""
        top = logits.max(1)
        return cls(logits, top, logits[np.arange(len(logits)), labels] - top)

    def thinned(self, most: int) -> "Likelihood":
        """Every so manieth row, about `most` of them."""
        step = max(1, len(self.logits) // most)
        return Likelihood(self.logits[::step], self.top[::step], self.own[::step])

    def mean_below_top(self) -> float:
        """The mean of z over all classes less each row's largest, averaged over the rows."""
        n, k = self.logits.shape
        total = sum(float(self.logits[part].sum(dtype=np.float64)) for part in blocks(n, k))
        return total / (n * k) - float(self.top.mean(dtype=np.float64))

    def slope(self, b: float) -> Slope:
        """One pass over the logits."""
        n, k = self.logits.shape
        first = second = squared = 0.0
        room = np.empty((2, min(n, next(blocks(n, k)).stop), k), dtype=self.logits.dtype)
        for part in blocks(n, k):
            x, e = room[:, : part.stop - part.start]
            np.subtract(self.logits[part], self.top[part, None], out=x)
            np.multiply(x, b, out=e)
            np.exp(e, out=e)
            zeroth = e.sum(1)
            e *= x
            mean = e.sum(1) / zeroth
            variance = np.vecdot(e, x) / zeroth - mean**2
            gradient = (mean - self.own[part]).astype(np.float64)
            first += float(gradient.sum())
            second += float(variance.sum(dtype=np.float64))
            squared += float(gradient @ gradient)
        return Slope(first / n, second / n, squared / n)
