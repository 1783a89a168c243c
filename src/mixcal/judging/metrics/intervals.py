"""Intervals of means and shares.

    mean      x̄ ± t s / √n, Student's t                                          within the range
    share     Wilson's score interval (Journal of the American Statistical Association 1927)

As in the paper. Errors that are sums of absolute gaps need another kind: see `inversion`.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from jaxtyping import Float

from mixcal.core.errors import BadInput

# From here on the normal quantile is Student's to three digits.
LARGE = 200


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with the ends of its interval."""

    value: float
    low: float
    high: float


def normal_quantile(level: float) -> float:
    """How many standard deviations a two-sided interval of this level reaches."""
    if not 0 < level < 1:
        raise BadInput(f"the level {level} is not between 0 and 1; give 0.95 for 95 %.")
    if 0.5 + level / 2 >= 1:
        raise BadInput(f"the level {level} is next to certainty; give 0.95 for 95 %.")
    return NormalDist().inv_cdf(0.5 + level / 2)


def mean_interval(
    values: Float[np.ndarray, " n"],
    *,
    level: float = 0.95,
    lowest: float = -math.inf,
    highest: float = math.inf,
) -> Estimate:
    """The mean with Student's interval, cut at the ends of what is possible.

    One infinite value makes the mean and both ends infinite: so is the expectation.
    """
    mean, n = float(values.mean()), len(values)
    with np.errstate(over="ignore"):  # of log losses beyond 1e154 the deviation is infinite
        deviation = float(values.std(ddof=1)) if n > 1 and math.isfinite(mean) else math.nan
    return mean_of_moments(mean, deviation, n, level=level, lowest=lowest, highest=highest)


def mean_of_moments(
    mean: float,
    deviation: float,
    n: int,
    *,
    level: float = 0.95,
    lowest: float = -math.inf,
    highest: float = math.inf,
) -> Estimate:
    """The same from the mean and the sample's standard deviation."""
    if not math.isfinite(mean):
        return Estimate(mean, mean, mean)
    if n == 1:
        return Estimate(mean, min(lowest, mean), max(highest, mean))
    half = student_quantile(level, n - 1) * deviation / math.sqrt(n)
    # Rows that sum to a little over one may have means outside of what is possible.
    return Estimate(mean, min(max(mean - half, lowest), mean), max(min(mean + half, highest), mean))


def share_interval(hits: int, n: int, *, level: float = 0.95) -> Estimate:
    """A share with Wilson's interval; it stays open where all or none are hits."""
    z = normal_quantile(level)
    low, high = wilson(np.array([float(hits)]), np.array([float(n)]), z)
    share = hits / n
    return Estimate(share, min(float(low[0]), share), max(float(high[0]), share))


def wilson(
    hits: Float[np.ndarray, " m"], counts: Float[np.ndarray, " m"], z: float
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """Both ends of Wilson's interval of each share; 0 and 1 where nothing was counted."""
    n = np.maximum(counts, 1e-300)
    share = hits / n
    center = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return np.where(counts > 0, center - half, 0.0), np.where(counts > 0, center + half, 1.0)


def student_quantile(level: float, freedom: float) -> float:
    """The same of Student's t with so many degrees of freedom, whole or not."""
    if freedom >= LARGE:
        return normal_quantile(level)
    normal_quantile(level)  # refuses an impossible level
    from scipy.special import stdtrit  # a tenth of a second, for small samples only

    return float(stdtrit(freedom, 0.5 + level / 2))
