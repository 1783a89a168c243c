"""Intervals of calibration errors, which are norms of noisy gaps, by inverting a test.

The plug-in ECE is Σ |θ̂_m| with θ̂_m ≈ N(θ_m, s_m²). Absolute values fold the noise upwards, and
resampling folds it once more: a percentile bootstrap hardly ever covers Σ |θ_m|. Here a value e
belongs to the interval if the observed error is not extreme for it,

    q_α/2(T_e) ≤ observed ≤ q_1−α/2(T_e),      T_e = ‖ e u / ‖u‖ + s Z ‖,   Z normal,

where u, the shape of the true gaps, is a nuisance. For a given e the noise adds most if all of e
sits in few bins and least if it is spread over all, for |θ + s Z| − |θ| shrinks with |θ| / s. So

    the lower end takes for u the gaps that stand out, |θ̂_m| > s_m √(2 log M), and 0 elsewhere;
    the upper end takes the gaps raised to their noise, sign(θ̂_m) max(|θ̂_m|, s_m).

Both choices err towards covering. The upper end is never below the observed error itself, which
is biased upwards. Ours; √(2 log M) is the universal threshold of Donoho & Johnstone (Biometrika
1994). What it covers is measured by `benchmarks/coverage.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from jaxtyping import Float

from mixcal.judging.metrics.intervals import Estimate, normal_quantile

Norm = Callable[[Float[np.ndarray, "r m"]], Float[np.ndarray, " r"]]
Sides = Literal["both", "positive"]

DRAWS = 1000
# Numbers drawn at most: with many classes fewer draws of more bins, whose sum varies less.
MOST_NUMBERS = 3_000_000
# A millionth of the range that is searched.
HALVINGS = 20


def sum_of_absolutes(rows: Float[np.ndarray, "r m"]) -> Float[np.ndarray, " r"]:
    """Σ |x|."""
    return np.abs(rows).sum(1)


def sum_of_positives(rows: Float[np.ndarray, "r m"]) -> Float[np.ndarray, " r"]:
    """Σ max(x, 0)."""
    return np.maximum(rows, 0).sum(1)


def root_of_squares(rows: Float[np.ndarray, "r m"]) -> Float[np.ndarray, " r"]:
    """√ Σ x²."""
    return np.sqrt(np.vecdot(rows, rows))


def largest_absolute(rows: Float[np.ndarray, "r m"]) -> Float[np.ndarray, " r"]:
    """max |x|."""
    return np.maximum(rows.max(1), -rows.min(1))


def normal_draws(size: int, *, seed: int = 0) -> Float[np.ndarray, "r m"]:
    """Standard normal rows of this length; the same ones for the same seed."""
    draws = max(200, min(DRAWS, MOST_NUMBERS // max(size, 1)))
    return np.random.default_rng(seed).standard_normal((draws, size))


def norm_interval(
    observed: float,
    gaps: Float[np.ndarray, " m"],
    spread: Float[np.ndarray, " m"],
    noise: Float[np.ndarray, "r m"],
    norm: Norm,
    *,
    level: float = 0.95,
    sides: Sides = "both",
) -> Estimate:
    """The interval of a norm of gaps, of which `noise` holds draws of the error.

    `spread` is the standard deviation of each gap. With sides = "positive" the norm looks at
    positive gaps only.
    """
    tail = (1 - level) / 2
    normal_quantile(level)  # refuses an impossible level
    threshold = float(np.sqrt(2 * np.log(max(len(gaps), 2))))
    noisiest = Path.noisiest(gaps, spread, noise, norm, sides, threshold)
    quietest = Path.quietest(gaps, spread, noise, norm, sides)
    low = noisiest.error_where(1 - tail, observed)
    high = quietest.error_where(tail, observed)
    return Estimate(observed, min(low, observed), max(high, observed))


@dataclass(frozen=True, slots=True)
class Path:
    """True gaps of one shape and any size, and what is observed of them: ‖ e · unit + noise ‖."""

    unit: Float[np.ndarray, " m"]
    noise: Float[np.ndarray, "r m"]
    norm: Norm

    @classmethod
    def of(
        cls, shape: Float[np.ndarray, " m"], noise: Float[np.ndarray, "r m"], norm: Norm
    ) -> Self:
        """A shape of any size, even none."""
        length = float(norm(shape[None])[0])
        return cls(shape / length if length > 0 else np.zeros_like(shape), noise, norm)

    @classmethod
    def noisiest(
        cls,
        gaps: Float[np.ndarray, " m"],
        spread: Float[np.ndarray, " m"],
        noise: Float[np.ndarray, "r m"],
        norm: Norm,
        sides: Sides,
        threshold: float,
    ) -> Self:
        """The gaps that stand out; of none, the largest."""
        kept = np.abs(gaps) > threshold * spread
        candidates = gaps if sides == "positive" else np.abs(gaps)
        if not (kept & (candidates > 0)).any():
            kept = np.arange(len(gaps)) == candidates.argmax()
        return cls.of(np.where(kept, gaps, 0.0), noise, norm)

    @classmethod
    def quietest(
        cls,
        gaps: Float[np.ndarray, " m"],
        spread: Float[np.ndarray, " m"],
        noise: Float[np.ndarray, "r m"],
        norm: Norm,
        sides: Sides,
    ) -> Self:
        """The gaps raised to their noise."""
        raised = np.where(gaps < 0, -1.0, 1.0) * np.maximum(np.abs(gaps), spread)
        if sides == "both":
            return cls.of(raised, noise, norm)
        if not (raised > 0).any():
            # All lie on the other side: the one that is nearest to this side may belong to it.
            nearest = (gaps / np.where(spread > 0, spread, 1)).argmax()
            raised = np.where(np.arange(len(gaps)) == nearest, np.abs(raised), raised)
        # Gaps on the other side stay where they are: there the noise adds nothing.
        return cls.of(np.maximum(raised, 0), noise + np.minimum(raised, 0), norm)

    def observed(self, error: float) -> Float[np.ndarray, " r"]:
        """Draws of the observed error where this is the true one."""
        return self.norm(error * self.unit + self.noise)

    def error_where(self, share: float, observed: float) -> float:
        """Up to which error this quantile stays below (lower end) or at what was observed."""

        def too_small(error: float) -> bool:
            quantile = float(np.quantile(self.observed(error), share))
            return quantile < observed if share > 0.5 else quantile <= observed

        if not self.unit.any() or not too_small(0.0):
            return 0.0
        below, above = 0.0, observed + 4 * float(np.quantile(self.norm(np.abs(self.noise)), 0.999))
        for _ in range(HALVINGS):
            middle = (below + above) / 2
            below, above = (middle, above) if too_small(middle) else (below, middle)
        return below if share > 0.5 else above
