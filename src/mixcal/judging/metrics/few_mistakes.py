"""Intervals of calibration errors where mistakes are few, and their noise is no normal one.

A sure model makes three mistakes among a thousand, or none: the number of them is a Poisson draw,
and a bin without a mistake shows no variance at all. Then the interval also holds the ends that
follow from Wilson's interval of the accuracy of each bin, put together as variances are (Zou &
Donner, Statistics in Medicine 2008),

    high ≥ observed + √ Σ_m s_m² (largest f(gap_m) − f(gap_m))²
    low  ≤ observed − √ Σ_m s_m² (f(gap_m) − smallest f(gap_m))²

with s_m the weight of the bin, f(g) = |g|, or max(±g, 0) for one side, and the sums over bins of
which nearly all samples are right, or nearly all wrong. For the others the inverted test is enough.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float, Shaped

from mixcal.judging.metrics.intervals import Estimate, normal_quantile, wilson
from mixcal.judging.metrics.inversion import Sides

# Above so many the normal noise is good enough; of a smaller bin, above this share.
MOST, SHARE = 30, 0.05
ROUNDING = 1e-12


def widened(
    found: Estimate,
    *,
    right: Float[np.ndarray, " m"],
    counts: Float[np.ndarray, " m"],
    claimed: Float[np.ndarray, " m"],
    weights: Float[np.ndarray, " m"],
    level: float,
    sides: Sides = "both",
) -> Estimate:
    """The interval of Σ weight · f(claimed − accuracy), or another norm of it, mistakes minded.

    With negative weights the side looked at is where accuracy exceeds what was claimed.
    """
    low, high = wilson(right, counts, normal_quantile(level))
    gap = weights * (claimed - right / counts)
    ends = np.sort(np.stack([weights * (claimed - low), weights * (claimed - high)]), axis=0)
    if sides == "positive":
        gap, ends = np.maximum(gap, 0), np.maximum(ends, 0)
    largest = np.abs(ends).max(0)
    smallest = np.where((ends[0] < 0) & (ends[1] > 0), 0.0, np.abs(ends).min(0))
    gap, sure = np.abs(gap), few(right, counts)
    below, above = (gap - smallest)[sure], (largest - gap)[sure]
    return spread_out(found, below=float(np.linalg.norm(below)), above=float(np.linalg.norm(above)))


def widened_by_rate(found: Estimate, right: Shaped[np.ndarray, " n"], *, level: float) -> Estimate:
    """The same of an error that one mistake more or less moves by 1 / n at most."""
    if not mistakes_are_few(right):
        return found
    hits, counts = np.array([float(right.sum())]), np.array([float(len(right))])
    low, high = wilson(hits, counts, normal_quantile(level))
    reach = float(np.maximum(high - hits / counts, hits / counts - low)[0])
    return spread_out(found, below=reach, above=reach)


def mistakes_are_few(right: Shaped[np.ndarray, " n"]) -> bool:
    """Whether nearly all samples are right, or nearly all wrong."""
    return bool(few(np.array([float(right.sum())]), np.array([float(len(right))]))[0])


def few(right: Float[np.ndarray, " m"], counts: Float[np.ndarray, " m"]) -> Bool[np.ndarray, " m"]:
    """Where nearly all are right, or nearly all wrong."""
    against = np.minimum(right, counts - right)
    # Of fewer samples nobody can say that; but the fullest bin decides, however few it holds.
    enough = counts >= min(1 / SHARE, counts.max())
    return enough & (against <= MOST) & (against <= SHARE * counts)


def spread_out(found: Estimate, *, below: float, above: float) -> Estimate:
    """The interval, reaching at least so far below and above the value, within 0 … 1."""
    low, high = max(found.value - below, 0.0), min(found.value + above, 1.0)
    low = low if low > ROUNDING else 0.0
    return replace(found, low=min(found.low, low), high=max(found.high, high))
