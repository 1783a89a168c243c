"""Smooth ECE: the gap smoothed by a kernel as wide as the error itself, so there are no bins.

    smECE_σ = ∫ | Σ_i K_σ(t, c_i) (c_i − r_i) | dt / n,      reported where smECE_σ = σ

(Błasiok & Nakkiran, ICLR 2024; arXiv:2309.12236v1, sections 3 and 4.) K is a Gaussian reflected at
0 and 1. As the authors' package computes it, so that numbers compare: samples are split linearly
between the nodes of a grid, the kernel ends half a unit away, the integral is a mean over at least
200 points relative to the smoothed number of samples, the end nodes are not doubled by the
reflection, and σ is a multiple of 1/1024, the smallest at which smECE_σ ≤ σ.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Shaped

from mixcal.judging.metrics.few_mistakes import widened_by_rate
from mixcal.judging.metrics.intervals import Estimate
from mixcal.judging.metrics.inversion import norm_interval, normal_draws, sum_of_absolutes

POINTS = 200
NARROWEST = 0.001
HALVINGS = 10
# Cells the noise is drawn in; and the most points the interval looks at.
CELLS, MOST_POINTS = 400, 1000
# Added to the number of samples per unit at every point; as in the authors' package.
FLOOR = 1e-4


def smooth_error(confidence: Float[np.ndarray, " n"], right: Shaped[np.ndarray, " n"]) -> float:
    """Smooth ECE with the bandwidth that equals it."""
    return Smoother.of(confidence, right).error()


def smooth_interval(
    confidence: Float[np.ndarray, " n"],
    right: Shaped[np.ndarray, " n"],
    *,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Smooth ECE and its interval; what is estimated is the population's at this bandwidth."""
    smoother = Smoother.of(confidence, right)
    width = smoother.bandwidth()
    points = np.linspace(0, 1, min(max(round(10 / width), POINTS), MOST_POINTS))
    cells = (np.arange(CELLS) + 0.5) / CELLS
    gap = confidence.astype(np.float64) - right
    place = np.clip((confidence * CELLS).astype(np.int64), 0, CELLS - 1)
    smear = _reflected(cells[:, None], points, width)
    smear /= smear.sum(1, keepdims=True) * len(gap)
    squares = np.bincount(place, gap * gap, CELLS)
    field = np.bincount(place, gap, CELLS) @ smear
    noise = (normal_draws(CELLS, seed=seed) * np.sqrt(squares)) @ smear
    spread = np.sqrt(squares @ smear**2)
    found = norm_interval(
        float(np.abs(field).sum()), field, spread, noise, sum_of_absolutes, level=level
    )
    value = smoother.error_at(width)
    found = Estimate(value, min(found.low, value), min(max(found.high, value), 1.0))
    return widened_by_rate(found, right, level=level)


def smooth_curve(
    confidence: Float[np.ndarray, " n"], right: Shaped[np.ndarray, " n"], *, points: int = 101
) -> "SmoothCurve":
    """What a smooth reliability diagram draws, at the bandwidth of the smooth ECE."""
    width = Smoother.of(confidence, right).bandwidth()
    cells = (np.arange(CELLS) + 0.5) / CELLS
    at = np.linspace(0, 1, points)
    smear = _reflected(cells[:, None], at, width)
    smear /= smear.sum(1, keepdims=True)
    place = np.clip((confidence * CELLS).astype(np.int64), 0, CELLS - 1)
    gap = confidence.astype(np.float64) - right
    mass = np.bincount(place, minlength=CELLS) @ smear
    held = np.maximum(mass, 1e-300)
    claimed = np.bincount(place, confidence, CELLS) @ smear / held
    spread = np.sqrt(np.bincount(place, gap * gap, CELLS) @ smear**2) / held
    return SmoothCurve(
        claimed, claimed - np.bincount(place, gap, CELLS) @ smear / held, spread, mass, width
    )


@dataclass(frozen=True, slots=True)
class SmoothCurve:
    """Smoothed confidence and accuracy at evenly spaced points, with deviation and mass."""

    confidence: Float[np.ndarray, " p"]
    accuracy: Float[np.ndarray, " p"]
    spread: Float[np.ndarray, " p"]
    mass: Float[np.ndarray, " p"]
    bandwidth: float


@dataclass(frozen=True, slots=True)
class Smoother:
    """The samples, ready to be smoothed at any bandwidth."""

    confidence: Float[np.ndarray, " n"]
    gap: Float[np.ndarray, " n"]

    @classmethod
    def of(cls, confidence: Float[np.ndarray, " n"], right: Shaped[np.ndarray, " n"]) -> "Smoother":
        """From confidences and whether each prediction was right."""
        confidence = confidence.astype(np.float64)
        return cls(confidence, confidence - right)

    def error(self) -> float:
        """The fixed point."""
        return self.error_at(self.bandwidth())

    def bandwidth(self) -> float:
        """The smallest multiple of 1/1024 at which the error is no larger than the bandwidth."""
        if self.error_at(1.0) > 1.0:
            return 1.0
        wide, narrow = 1.0, 0.0
        for _ in range(HALVINGS):
            middle = (wide + narrow) / 2
            if middle < NARROWEST or middle < self.error_at(middle):
                narrow = middle
            else:
                wide = middle
        return wide

    def error_at(self, width: float) -> float:
        """smECE_σ for one σ."""
        cells = 2 * max(500, round(5 / width))
        points = np.linspace(0, 1, max(round(10 / width), POINTS))
        gap = np.interp(points, *_smoothed(self._on_grid(self.gap, cells), width))
        mass = np.interp(points, *_smoothed(self._on_grid(np.ones_like(self.gap), cells), width))
        floor = FLOOR * np.sqrt(2 * np.pi) * width * len(points)
        return float(np.abs(gap).sum() / (mass.sum() + floor))

    def _on_grid(self, weights: Float[np.ndarray, " n"], cells: int) -> Float[np.ndarray, " g"]:
        scaled = self.confidence * cells
        node = np.minimum(scaled.astype(np.int64), cells - 1)
        part = scaled - node
        below = np.bincount(node, (1 - part) * weights, cells + 1)
        return below + np.bincount(node + 1, part * weights, cells + 1)


def _smoothed(
    values: Float[np.ndarray, " g"], width: float
) -> tuple[Float[np.ndarray, " g"], Float[np.ndarray, " g"]]:
    """The nodes, and the values on them convolved with the kernel."""
    cells = len(values) - 1
    half = cells // 2
    kernel = np.exp(-0.5 * (np.arange(-half, half + 1) / cells / width) ** 2)
    reflected = np.concatenate([values[half:0:-1], values, values[-2 : -half - 2 : -1]])
    size = len(reflected) + len(kernel) - 1
    product = np.fft.rfft(reflected, size) * np.fft.rfft(kernel, size)
    smoothed = np.fft.irfft(product, size)[2 * half : 2 * half + cells + 1]
    return np.linspace(0, 1, cells + 1), smoothed


def _reflected(
    at: Float[np.ndarray, "g 1"], points: Float[np.ndarray, " p"], width: float
) -> Float[np.ndarray, "g p"]:
    """The reflected Gaussian between grid cells and points."""
    return sum(
        (np.exp(-0.5 * ((points - image) / width) ** 2) for image in (at, -at, 2 - at)),
        start=np.zeros((len(at), len(points))),
    )
