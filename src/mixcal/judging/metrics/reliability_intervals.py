"""Intervals of everything that comes from a Reliability, from its sums alone.

What is estimated is the error a model of this kind has over the whole population with these bins.
The method is `inversion`, and `few_mistakes` where the noise is no normal one. For the MCE, where
bins of a few samples decide, it is a union: each bin's accuracy gets Wilson's interval, the largest
upper end bounds the largest gap from above, and the largest of the lower ends, each at the M-th
part of the error rate, bounds it from below.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from jaxtyping import Float

from mixcal.judging.metrics.classwise import ClasswiseReliability
from mixcal.judging.metrics.few_mistakes import widened
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
    """A metric as a norm of weight · gap, one per bin, with its standard deviations.

    A negative weight looks at the other side.
    """

    value: float
    weights: Float[np.ndarray, " m"]
    spread: Float[np.ndarray, " m"]
    norm: Norm
    sides: Sides = "both"

    def interval(self, sums: Reliability, level: float, seed: int) -> Estimate:
        """By inversion over the bins that hold samples; wider where mistakes are few."""
        held = sums.counts > 0
        weights, spread = self.weights[held], self.spread[held]
        draws = normal_draws(len(spread), seed=seed) * spread
        gaps = weights * sums.gaps[held]
        found = norm_interval(
            self.value, gaps, spread, draws, self.norm, level=level, sides=self.sides
        )
        return widened(
            _within_one(found),
            right=sums.right[held].astype(np.float64),
            counts=sums.counts[held].astype(np.float64),
            claimed=sums.confidences[held],
            weights=weights,
            level=level,
            sides=self.sides,
        )


def _ece(sums: Reliability, noise: Noise) -> NormOfGaps:
    return NormOfGaps(sums.expected_error(), sums.shares, noise.weighted, sum_of_absolutes)


def _one_sided(
    sums: Reliability, noise: Noise, sign: float, *, by_confidence: bool = False
) -> NormOfGaps:
    """Overconfidence (sign 1) or underconfidence (sign −1), weighted by confidence if asked."""
    scale: Scale = sums.confidences if by_confidence else 1.0
    value = (sums.overconfidence if sign > 0 else sums.underconfidence)(weighted=by_confidence)
    weights, spread = sign * scale * sums.shares, scale * noise.weighted
    return NormOfGaps(value, weights, spread, sum_of_positives, "positive")


def _ace(sums: Reliability, noise: Noise) -> NormOfGaps:
    number = np.count_nonzero(sums.counts)
    weights = np.full(sums.bins, 1 / number)
    return NormOfGaps(sums.average_error(), weights, noise.plain / number, sum_of_absolutes)


def _rms(sums: Reliability, noise: Noise) -> NormOfGaps:
    value, weights = sums.root_mean_squared_error(), np.sqrt(sums.shares)
    return NormOfGaps(value, weights, noise.rooted, root_of_squares)


def _weighted_maximum(sums: Reliability, noise: Noise) -> NormOfGaps:
    value = sums.maximum_error(weighted=True)
    return NormOfGaps(value, sums.shares, noise.weighted, largest_absolute)


NORMS: Mapping[str, Callable[[Reliability, Noise], NormOfGaps]] = {
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
    if not sums.n:
        return Estimate(0.0, 0.0, 1.0)
    return NORMS[metric](sums, Noise.of(sums)).interval(sums, level, seed)


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
    draws = normal_draws(len(gaps), seed=seed) * spread
    found = norm_interval(sums.expected_error(), gaps, spread, draws, sum_of_absolutes, level=level)
    return widened(
        _within_one(found),
        right=sums.positives[held].astype(np.float64),
        counts=sums.counts[held].astype(np.float64),
        claimed=expected[held],
        weights=sums.counts[held] / (n * k),
        level=level,
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
