"""Intervals of everything that comes from a Reliability, from its sums alone.

What is estimated is the error a model of this kind has over the whole population with these bins.
The method is `inversion`; for the MCE, where bins of a few samples decide, it is a union: each
bin's accuracy gets Wilson's interval, the largest upper end bounds the largest gap from above, and
the largest of the lower ends, each at the M-th part of the error rate, bounds it from below.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from jaxtyping import Bool, Float

from mixcal.judging.metrics.classwise import ClasswiseReliability
from mixcal.judging.metrics.intervals import Estimate, normal_quantile, wilson
from mixcal.judging.metrics.inversion import (
    Norm,
    Sides,
    largest_absolute,
    norm_interval,
    normal_draws,
    root_of_squares,
    sum_of_absolutes,
    sum_of_positives,
)
from mixcal.judging.metrics.reliability import Reliability

Scale = float | Float[np.ndarray, " m"]


@dataclass(frozen=True, slots=True)
class Noise:
    """How uncertain the gap of each bin is: its variance for one sample, its share, n."""

    variance: Float[np.ndarray, " m"]
    shares: Float[np.ndarray, " m"]
    gaps: Float[np.ndarray, " m"]
    n: int

    @classmethod
    def of(cls, sums: Reliability) -> Self:
        """From second moments, with one pseudo-sample that is as variable as a calibrated one.

        Without it a bin of three right predictions would claim to know its accuracy exactly.
        """
        counts = np.maximum(sums.counts, 1)
        squares = sums.confidence_squared - 2 * sums.confidence_of_right + sums.right
        within = np.maximum(squares - counts * sums.gaps**2, 0)
        # Rows that sum to a little over one may hold confidences over one.
        calibrated = np.maximum(sums.confidence - sums.confidence_squared, 0) / counts
        return cls((within + calibrated) / counts, sums.shares, sums.gaps, max(sums.n, 1))

    @property
    def weighted(self) -> Float[np.ndarray, " m"]:
        """The standard deviation of share · gap: the share is a draw, too."""
        mass = self.shares * (1 - self.shares) * self.gaps**2
        return np.sqrt((self.shares * self.variance + mass) / self.n)

    @property
    def rooted(self) -> Float[np.ndarray, " m"]:
        """The standard deviation of √share · gap."""
        return np.sqrt((self.variance + (1 - self.shares) * self.gaps**2 / 4) / self.n)

    @property
    def plain(self) -> Float[np.ndarray, " m"]:
        """The standard deviation of the gap."""
        return np.sqrt(self.variance / np.maximum(self.shares * self.n, 1))


@dataclass(frozen=True, slots=True)
class NormOfGaps:
    """A metric as a norm of one gap per bin that holds samples, with its standard deviations."""

    value: float
    gaps: Float[np.ndarray, " m"]
    spread: Float[np.ndarray, " m"]
    norm: Norm
    sides: Sides = "both"

    def interval(self, level: float, seed: int) -> Estimate:
        """By inversion."""
        draws = normal_draws(len(self.gaps), seed=seed) * self.spread
        found = norm_interval(
            self.value, self.gaps, self.spread, draws, self.norm, level=level, sides=self.sides
        )
        return _within_one(found)


def _ece(sums: Reliability, noise: Noise, held: Bool[np.ndarray, " m"]) -> NormOfGaps:
    gaps = (sums.shares * sums.gaps)[held]
    return NormOfGaps(sums.expected_error(), gaps, noise.weighted[held], sum_of_absolutes)


def _one_sided(
    sums: Reliability,
    noise: Noise,
    held: Bool[np.ndarray, " m"],
    sign: float,
    *,
    by_confidence: bool = False,
) -> NormOfGaps:
    """Overconfidence (sign 1) or underconfidence (sign −1), weighted by confidence if asked."""
    scale: Scale = sums.confidences if by_confidence else 1.0
    value = (sums.overconfidence if sign > 0 else sums.underconfidence)(weighted=by_confidence)
    gaps, spread = (sign * scale * sums.shares * sums.gaps)[held], (scale * noise.weighted)[held]
    return NormOfGaps(value, gaps, spread, sum_of_positives, "positive")


def _ace(sums: Reliability, noise: Noise, held: Bool[np.ndarray, " m"]) -> NormOfGaps:
    number = np.count_nonzero(held)
    gaps, spread = sums.gaps[held] / number, noise.plain[held] / number
    return NormOfGaps(sums.average_error(), gaps, spread, sum_of_absolutes)


def _rms(sums: Reliability, noise: Noise, held: Bool[np.ndarray, " m"]) -> NormOfGaps:
    gaps, value = (np.sqrt(sums.shares) * sums.gaps)[held], sums.root_mean_squared_error()
    return NormOfGaps(value, gaps, noise.rooted[held], root_of_squares)


def _weighted_maximum(sums: Reliability, noise: Noise, held: Bool[np.ndarray, " m"]) -> NormOfGaps:
    gaps, value = (sums.shares * sums.gaps)[held], sums.maximum_error(weighted=True)
    return NormOfGaps(value, gaps, noise.weighted[held], largest_absolute)


NORMS: Mapping[str, Callable[[Reliability, Noise, Bool[np.ndarray, " m"]], NormOfGaps]] = {
    "ece": _ece,
    "oe": partial(_one_sided, sign=1.0),
    "ue": partial(_one_sided, sign=-1.0),
    "oe_weighted": partial(_one_sided, sign=1.0, by_confidence=True),
    "ue_weighted": partial(_one_sided, sign=-1.0, by_confidence=True),
    "ace": _ace,
    "rms_ce": _rms,
    "mce_weighted": _weighted_maximum,
}


def error_interval(
    sums: Reliability, metric: str = "ece", *, level: float = 0.95, seed: int = 0
) -> Estimate:
    """One of `NORMS` with its interval; of no samples 0 between 0 and 1."""
    held = sums.counts > 0
    if not held.any():
        return Estimate(0.0, 0.0, 1.0)
    return NORMS[metric](sums, Noise.of(sums), held).interval(level, seed)


def reliability_intervals(
    sums: Reliability, *, level: float = 0.95, seed: int = 0, singletons: bool = False
) -> dict[str, Estimate]:
    """ECE, RMS, ACE, OE, UE and MCE (plain and weighted), and the debiased error."""
    found = {name: error_interval(sums, name, level=level, seed=seed) for name in NORMS}
    # The same quantity of the population as the RMS error, estimated without its bias.
    root, debiased = found["rms_ce"], sums.debiased_error(singletons=singletons)
    found["debiased_ece"] = Estimate(debiased, min(root.low, debiased), max(root.high, debiased))
    found["mce"] = maximum_interval(sums, level=level)
    return found


def maximum_interval(sums: Reliability, *, level: float = 0.95) -> Estimate:
    """The interval of the largest gap among the bins that hold samples."""
    held = sums.counts > 0
    counts = sums.counts[held].astype(np.float64)
    right, conf = sums.right[held].astype(np.float64), sums.confidences[held]
    low, high = wilson(right, counts, normal_quantile(level))
    upper = np.maximum(np.abs(conf - low), np.abs(conf - high)).max()
    # Only one of M chances may claim too large a gap.
    low, high = wilson(right, counts, normal_quantile(1 - (1 - level) / len(counts)))
    lower = np.maximum(np.maximum(conf - high, low - conf), 0).max()
    value = sums.maximum_error()
    return Estimate(value, min(float(lower), value), max(float(upper), value))


def classwise_interval(
    sums: ClasswiseReliability, *, level: float = 0.95, seed: int = 0
) -> Estimate:
    """The interval of the classwise ECE; classes and bins count as independent."""
    held = sums.counts > 0
    n, k = sums.n, len(sums.counts)
    gaps = ((sums.confidence - sums.positives) / (n * k))[held]
    counts = np.maximum(sums.counts, 1)
    share = sums.positives / counts
    expected = np.minimum(sums.confidence / counts, 1)
    # Agresti and Coull's kind of pseudo-sample, as in Noise.
    mixed = (counts * share + expected) / (counts + 1)
    variance = mixed * (1 - mixed) + (1 - counts / n) * (share - expected) ** 2
    spread = np.sqrt(counts * variance)[held] / (n * k)
    draws = normal_draws(len(gaps), seed=seed)
    return _within_one(
        norm_interval(
            sums.expected_error(), gaps, spread, draws * spread, sum_of_absolutes, level=level
        )
    )


def null_band(
    sums: Reliability, *, level: float = 0.95, seed: int = 0, draws: int = 4000
) -> Estimate:
    """The ECE a perfectly calibrated model with these confidences would show; value: its median.

    Exact but for one thing: the right predictions of a bin, a sum of coins with probabilities
    c_i, are drawn as a binomial with their mean, which is a little wider.
    """
    generator = np.random.default_rng(seed)
    held = sums.counts > 0
    counts, conf = sums.counts[held], sums.confidence[held]
    share = np.clip(conf / counts, 0, 1)
    right = generator.binomial(counts, share, size=(draws, len(counts)))
    errors = np.abs(right - conf).sum(1) / sums.n
    low, middle, high = np.quantile(errors, [(1 - level) / 2, 0.5, (1 + level) / 2])
    return Estimate(float(middle), float(low), float(high))


def null_gaps(
    sums: Reliability, *, level: float = 0.95
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """Per bin, the band of accuracy a calibrated model would show: what a diagram draws."""
    z = normal_quantile(level)
    counts = np.maximum(sums.counts, 1)
    half = z * np.sqrt(np.maximum(sums.confidence - sums.confidence_squared, 0)) / counts
    return np.maximum(sums.confidences - half, 0), np.minimum(sums.confidences + half, 1)


def bootstrap_accuracies(
    sums: Reliability, *, level: float = 0.95, seed: int = 0, draws: int = 2000
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """Per bin, the percentiles of its accuracy when the samples are drawn anew.

    Drawing n samples with replacement fills the bins' right and wrong predictions as a multinomial
    does, so the sums are enough. A bin that a draw leaves empty says nothing in that draw.
    """
    generator = np.random.default_rng(seed)
    cells = np.concatenate([sums.right, sums.counts - sums.right])
    drawn = generator.multinomial(sums.n, cells / max(sums.n, 1), size=draws)
    right, wrong = drawn[:, : sums.bins], drawn[:, sums.bins :]
    counts = right + wrong
    accuracy = np.where(counts > 0, right / np.maximum(counts, 1), np.nan)
    accuracy[:, sums.counts == 0] = 0.0
    low, high = np.nanquantile(accuracy, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def _within_one(estimate: Estimate) -> Estimate:
    return Estimate(
        estimate.value, float(np.clip(estimate.low, 0, 1)), float(np.clip(estimate.high, 0, 1))
    )
