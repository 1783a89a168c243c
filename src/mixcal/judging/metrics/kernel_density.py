"""KDE-ECE: densities of confidence instead of bins (Zhang, Kailkhura & Han, ICML 2020;
arXiv:2003.07329v2, section 3.2).

    KDE-ECE = ∫ |x − π(x)| f(x) dx,      π(x) = min(accuracy · f_right(x) / f(x), 1)

f and f_right are densities of all confidences and of those of right predictions, with a triweight
kernel of standard deviation h = std(confidence | right) · (2 n)^(−1/5), mirrored at 0 and 1.
As the authors' code computes it: the grid reaches from −0.6 to 1.6 in 2^14 points, every sample is
mirrored at the nearer end only, and points where both densities are below 1e−6 do not count.
"""

import numpy as np
from jaxtyping import Float, Shaped

from mixcal.judging.metrics.few_mistakes import widened_by_rate
from mixcal.judging.metrics.intervals import Estimate
from mixcal.judging.metrics.inversion import norm_interval, normal_draws, sum_of_absolutes

LOWEST, HIGHEST = -0.6, 1.6
POINTS = 1 << 14
NEGLIGIBLE = 1e-6
# A triweight kernel reaches three of its standard deviations.
REACH = 3.0
CELLS = 300


def bandwidth(confidence: Float[np.ndarray, " n"], right: Shaped[np.ndarray, " n"]) -> float:
    """std(confidence | right) · (2 n)^(−1/5); of all where none is right or all are alike."""
    confidence = confidence.astype(np.float64)
    width = 0.0
    for chosen in (confidence[right.astype(bool)], confidence):
        if len(chosen) and width == 0:
            width = float(chosen.std()) * float(2 * len(confidence)) ** -0.2
    return max(width, 1e-3)


def kernel_density_error(
    confidence: Float[np.ndarray, " n"],
    right: Shaped[np.ndarray, " n"],
    *,
    points: int = POINTS,
) -> float:
    """KDE-ECE of the top label."""
    width = bandwidth(confidence, right)
    grid = np.linspace(LOWEST, HIGHEST, points)
    inside = (grid >= 0) & (grid <= 1)
    hits = right.astype(np.float64)
    # Both are numbers of samples per unit; accuracy times the density of the right is one, too.
    everything = _density(confidence.astype(np.float64), np.ones_like(hits), width, points)[inside]
    correct = _density(confidence.astype(np.float64), hits, width, points)[inside]
    share = max(hits.mean(), 1e-300)
    counted = (everything >= NEGLIGIBLE) | (correct / share >= NEGLIGIBLE)
    everything, correct = everything[counted], correct[counted]
    frequency = np.minimum(correct / np.maximum(everything, 1e-300), 1)
    error = np.abs(grid[inside][counted] - frequency) * everything
    return float(error.sum() / everything.sum())


def kernel_density_interval(
    confidence: Float[np.ndarray, " n"],
    right: Shaped[np.ndarray, " n"],
    *,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """KDE-ECE and its interval; what is estimated is the population's at this bandwidth."""
    value = kernel_density_error(confidence, right)
    width = bandwidth(confidence, right)
    confidence = confidence.astype(np.float64)
    points = np.linspace(0, 1, CELLS)
    middles = (np.arange(CELLS) + 0.5) / CELLS
    place = np.clip((confidence * CELLS).astype(np.int64), 0, CELLS - 1)
    images = (middles[:, None], -middles[:, None], 2 - middles[:, None])
    smear = sum(
        (_triweight((points - image) / width) for image in images),
        start=np.zeros((CELLS, CELLS)),
    )
    smear /= np.maximum(smear.sum(1, keepdims=True), 1e-300) * len(confidence)
    counts = np.bincount(place, minlength=CELLS).astype(np.float64)
    hits = np.bincount(place, right.astype(np.float64), CELLS)
    # The error at x is the sum of x − r_i over the samples near x.
    field = points * (counts @ smear) - hits @ smear
    gap = confidence - right
    squares = np.bincount(place, gap * gap, CELLS)
    noise = (normal_draws(CELLS, seed=seed) * np.sqrt(squares)) @ smear
    spread = np.sqrt(squares @ smear**2)
    plain = float(np.abs(field).sum())
    found = norm_interval(plain, field, spread, noise, sum_of_absolutes, level=level)
    found = Estimate(value, min(found.low, value), min(max(found.high, value), 1.0))
    return widened_by_rate(found, right, level=level)


def _density(
    confidence: Float[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"],
    width: float,
    points: int,
) -> Float[np.ndarray, " g"]:
    """Mean kernel weight at each grid point, of the samples and of their mirror images."""
    step = (HIGHEST - LOWEST) / (points - 1)
    mirrored = np.where(confidence < 0.5, -confidence, 2 - confidence)
    grid = np.zeros(points)
    for samples in (confidence, mirrored):
        scaled = (samples - LOWEST) / step
        node = np.clip(scaled.astype(np.int64), 0, points - 2)
        part = scaled - node
        grid += np.bincount(node, (1 - part) * weights, points)
        grid += np.bincount(node + 1, part * weights, points)
    half = int(np.ceil(REACH * width / step))
    kernel = _triweight(np.arange(-half, half + 1) * step / width)
    size = points + len(kernel) - 1
    product = np.fft.rfft(grid, size) * np.fft.rfft(kernel, size)
    density = np.fft.irfft(product, size)[half : half + points]
    # What rounding in the transform leaves below zero is nothing.
    return np.maximum(density, 0) / (len(confidence) * width)


def _triweight(distance: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """The triweight kernel of standard deviation 1."""
    return 35 / 32 / REACH * np.maximum(1 - (distance / REACH) ** 2, 0) ** 3
