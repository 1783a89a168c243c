"""Paired comparisons: two models on the same samples, resampled together.

What makes a test set easy or hard is common to both, so the difference is known better than either
number. Each replicate draws the samples with replacement, the same ones for both models.

    shares (error, accuracy)      Agresti & Min (Statistics in Medicine 2005): half a sample more
                                  for each way to disagree; models that never did may still differ
    means (log loss …)            2 d − q_1−α/2 … 2 d − q_α/2 of the replicates' differences d*
                                  ("basic": Davison & Hinkley 1997, section 5.2)
    ranks (AURC, AUROC)           the same of the means of their influence functions
    norms of gaps (ECE, OE, UE)   the differences δ for which the observed one is not extreme

Norms are biased by their noise, each by its own amount, and resampled ones twice: between a
calibrated and an overconfident model the percentile bootstrap covers next to nothing. So the
replicates serve as draws of the noise of both models' gaps, and the test of `inversion` is inverted
for δ = e₁ − e₂; the level of both is the one at which e₁ + e₂ is as expected. Nor can |δ| exceed
the norm of the difference of both models' gaps, whose upper end follows in the same way. Above
50,000 samples the replicates are drawn from the normal distribution the bootstrap tends to.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from mixcal.core.errors import BadInput
from mixcal.judging.metrics.few_mistakes import mistakes_are_few
from mixcal.judging.metrics.intervals import normal_quantile
from mixcal.judging.metrics.inversion import Path, sum_of_absolutes
from mixcal.judging.metrics.paired_columns import PAIRED, Summed, summed_metric
from mixcal.judging.metrics.partition import Partition
from mixcal.judging.samples import Samples

Metric = Callable[[Samples], float]

REPLICATES = 1000
# Above, the normal limit; below, samples are drawn.
NORMAL_FROM = 50_000
# Steps of the curve from a true error to the expected one; halvings of the search.
GRID, HALVINGS = 60, 20
# Counts held at a time.
BLOCK = 1 << 21


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The metric of both models, first minus second, and the interval of that difference."""

    first: float
    second: float
    value: float
    low: float
    high: float

    @property
    def differs(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0


def paired_difference(
    first: Samples,
    second: Samples,
    metric: str | Metric,
    *,
    bins: int | Partition = 15,
    level: float = 0.95,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Difference:
    """The difference of a metric between two models on the same samples, first minus second.

    Metrics by name are quick; any function of `Samples` works and costs one call a replicate.
    """
    if len(first) != len(second):
        raise BadInput(
            f"{len(first)} and {len(second)} samples cannot be paired; predict the same samples "
            "with both models."
        )
    z = normal_quantile(level)
    if metric in ("error", "accuracy"):
        return _of_shares(first.right, second.right, z, sign=-1 if metric == "error" else 1)
    if isinstance(metric, str):
        quick = summed_metric(metric, bins=bins)
        if quick is None:
            raise BadInput(
                f"{metric!r} has no paired difference by name; give a function of Samples, or one "
                f"of {', '.join(PAIRED)}."
            )
        return _of_sums(first, second, quick, replicates, seed, level)
    generator = np.random.default_rng(seed)
    drawn = np.empty(replicates)
    for r in range(replicates):
        index = generator.integers(0, len(first), len(first))
        drawn[r] = metric(first.take(index)) - metric(second.take(index))
    return _reversed(metric(first), metric(second), drawn, level)


def _of_shares(
    first: Bool[np.ndarray, " n"], second: Bool[np.ndarray, " n"], z: float, *, sign: int
) -> Difference:
    """The difference of two shares of the same samples."""
    only_first = int((first & ~second).sum()) + 0.5
    only_second = int((second & ~first).sum()) + 0.5
    n, gap = len(first) + 2, only_first - only_second
    half = z * math.sqrt(only_first + only_second - gap**2 / n) / n
    a, b = (float(side.mean()) if sign > 0 else float(1 - side.mean()) for side in (first, second))
    ends = sorted((sign * gap / n - half, sign * gap / n + half))
    low, high = (min(max(end, -1.0), 1.0) for end in ends)
    return Difference(first=a, second=b, value=a - b, low=min(low, a - b), high=max(high, a - b))


def _reversed(
    first: float, second: float, drawn: Float[np.ndarray, " r"], level: float
) -> Difference:
    value = first - second
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Difference(
        first=first,
        second=second,
        value=value,
        low=2 * value - float(high),
        high=2 * value - float(low),
    )


def _of_sums(
    first: Samples, second: Samples, metric: Summed, replicates: int, seed: int, level: float
) -> Difference:
    columns = np.hstack([metric.columns(first), metric.columns(second)])
    half = columns.shape[1] // 2
    means = columns.mean(0)
    if not np.isfinite(means).all():
        raise BadInput(
            "an infinite log loss and an AUROC without mistakes have no difference; compare "
            "another metric."
        )
    draw = _normal_means if len(first) > NORMAL_FROM else _resampled_means
    noise = draw(columns, replicates, seed) - means
    a = float(metric.norm(means[None, :half])[0])
    b = float(metric.norm(means[None, half:])[0])
    if metric.sides is None:
        return _reversed(a, b, a - b + (noise[:, :half] - noise[:, half:])[:, 0], level)
    spread = noise.std(0) + 1e-15
    ends = [
        (
            Path.noisiest(gaps, width, draws, metric.norm, metric.sides, threshold=1.0),
            Path.quietest(gaps, width, draws, metric.norm, metric.sides),
        )
        for gaps, width, draws in (
            (means[:half], spread[:half], noise[:, :half]),
            (means[half:], spread[half:], noise[:, half:]),
        )
    ]
    if np.array_equal(columns[:, :half], columns[:, half:]):
        return Difference(first=a, second=b, value=0.0, low=0.0, high=0.0)
    tail = (1 - level) / 2
    low = _difference_where(ends[0][0], ends[1][1], a, b, 1 - tail)
    high = _difference_where(ends[0][1], ends[1][0], a, b, tail)
    # Models that are nearly the same differ at most by the norm of what sets their gaps apart.
    apart, own = means[:half] - means[half:], noise[:, :half] - noise[:, half:]
    norm = sum_of_absolutes if metric.sides == "positive" else metric.norm
    quietest = Path.quietest(apart, own.std(0) + 1e-15, own, norm, "both")
    observed = float(norm(apart[None])[0])
    reach = max(quietest.error_where(tail / 2, observed), observed)
    low, high = max(low, -reach), min(high, reach)
    if mistakes_are_few(first.right) and mistakes_are_few(second.right):
        # Then the replicates show no noise; a mistake more moves the difference by 1 / n.
        shares = _of_shares(first.right, second.right, normal_quantile(level), sign=1)
        further = max(shares.value - shares.low, shares.high - shares.value)
        low, high = min(low, a - b - further), max(high, a - b + further)
    return Difference(first=a, second=b, value=a - b, low=min(low, a - b), high=max(high, a - b))


def _difference_where(first: Path, second: Path, a: float, b: float, share: float) -> float:
    """The true difference for which this quantile of the observed one is a − b."""
    top = a + b + 3 * float((first.observed(0.0) + second.observed(0.0)).max())
    grid = np.linspace(0, top, GRID)
    expected_a = np.array([first.observed(error).mean() for error in grid])
    expected_b = np.array([second.observed(error).mean() for error in grid])

    def level_of(difference: float) -> float:
        """The first error at which both together are expected to be as large as they are."""
        errors = np.linspace(max(difference, 0.0), max(difference, 0.0) + top, 8 * GRID)
        sums = np.interp(errors, grid, expected_a) + np.interp(
            errors - difference, grid, expected_b
        )
        return float(errors[min(int(np.searchsorted(sums, a + b)), len(errors) - 1)])

    below, above = -top, top
    for _ in range(HALVINGS):
        middle = (below + above) / 2
        error = level_of(middle)
        drawn = first.observed(error) - second.observed(error - middle)
        smaller = float(np.quantile(drawn, share)) < a - b
        below, above = (middle, above) if smaller else (below, middle)
    return (below + above) / 2


def _resampled_means(
    columns: Float[np.ndarray, "n m"], replicates: int, seed: int
) -> Float[np.ndarray, "r m"]:
    """Means over samples drawn with replacement; how often each was drawn, times the columns."""
    generator = np.random.default_rng(seed)
    n = len(columns)
    drawn = np.empty((replicates, columns.shape[1]))
    rows = max(1, min(replicates, BLOCK // n))
    times = np.empty((rows, n))
    for start in range(0, replicates, rows):
        count = min(rows, replicates - start)
        for row in range(count):
            index = generator.integers(0, n, n, dtype=np.int32)
            times[row] = np.bincount(index, minlength=n)
        drawn[start : start + count] = times[:count] @ columns
    return drawn / n


def _normal_means(
    columns: Float[np.ndarray, "n m"], replicates: int, seed: int
) -> Float[np.ndarray, "r m"]:
    mean = columns.mean(0)
    covariance = columns.T @ columns / len(columns) - np.outer(mean, mean)
    values, vectors = np.linalg.eigh(covariance / len(columns))
    root = vectors * np.sqrt(np.maximum(values, 0))
    normal = np.random.default_rng(seed).standard_normal((replicates, len(mean)))
    return mean + normal @ root.T
