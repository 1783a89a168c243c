"""Temperature scaling (Guo et al., ICML 2017; arXiv:1706.04599v2, section 4.2).

    p = softmax(z / T),     T = argmin of the mean log loss on held-out data

As in the paper. The log loss is convex in 1 / T, so Newton's method kept inside a bracket finds the
optimum to rounding. Where there is none (every label is the top score, or the scores are worse than
chance) T is the bound, with a warning. `criterion="grid-ece"` is what the codes of focal
calibration, MbLS, RankMixup and CSM do: the T of 0.1, 0.2 … 10 with the lowest ECE, the smallest of
equals; `"grid-nll"` is the same grid by log loss.
"""

import math
import warnings
from dataclasses import dataclass
from statistics import NormalDist
from typing import Self

import numpy as np
from jaxtyping import Float, Shaped

from mixcal.core.errors import BadInput
from mixcal.core.predictions import softmax
from mixcal.judging.rescaling.fitting_data import NoOptimum, blocks, fitting_data
from mixcal.judging.rescaling.likelihood_slope import Likelihood, Slope

CRITERIA = ("nll", "grid-ece", "grid-nll")
LOWEST, HIGHEST = 1e-4, 1e4
GRID = tuple(round(0.1 * i, 1) for i in range(1, 101))
REASONS = {
    LOWEST: "every true class has the top score, so that no confidence is too high",
    HIGHEST: "the scores are no better than chance, so that no confidence is too low",
    1.0: "all scores of a sample are equal, so that one temperature is as good as another",
}
# Rows of the first, rough solution.
ROUGH = 4096
# Newton's error after a step is about the square of the step.
SMALL_STEP = 1e-4
MOST_STEPS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Temperature:
    """One number that all logits are divided by. It keeps every predicted label.

    `low` and `high` bound T at the confidence `level` (robust standard error of log T); they are
    None where T comes from a grid or is a bound itself.
    """

    temperature: float
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    at_bound: bool = False
    criterion: str = "nll"

    @classmethod
    def fit(
        cls,
        logits: Shaped[np.ndarray, "..."],
        labels: Shaped[np.ndarray, "..."],
        *,
        criterion: str = "nll",
        level: float = 0.95,
        bins: int = 15,
    ) -> Self:
        """The temperature of held-out logits; `bins` are those of the ECE on the grid."""
        scores, classes = fitting_data(logits, labels)
        if criterion not in CRITERIA:
            raise BadInput(f"criterion is {criterion!r}; it is one of {', '.join(CRITERIA)}.")
        likelihood = Likelihood.of(scores, classes)
        if criterion != "nll":
            right = scores.argmax(1) == classes
            losses = [_grid_loss(likelihood, right, t, criterion, bins) for t in GRID]
            # The first of equals, hence the smallest.
            found = GRID[int(np.argmin(losses))]
            return cls(temperature=found, level=level, criterion=criterion)
        bound, reason = _bound_without_optimum(likelihood), ""
        if bound is None:
            b, slope = _newton(likelihood, 1 / _rough_temperature(likelihood), SMALL_STEP)
            if LOWEST < 1 / b < HIGHEST:
                low, high = _interval(b, slope, len(scores), level)
                return cls(temperature=1 / b, low=low, high=high, level=level)
            bound, reason = min(max(1 / b, LOWEST), HIGHEST), "it lies beyond the bound"
        warnings.warn(
            f"No best temperature: {reason or REASONS[bound]}; T = {bound:g} is returned. "
            "Fit on more samples.",
            NoOptimum,
            stacklevel=2,
        )
        return cls(temperature=bound, level=level, at_bound=True)

    def transform(self, logits: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
        """Probabilities."""
        wide = logits.astype(np.float32) if logits.dtype == np.float16 else logits
        # The top goes first: a bound of T would drive large logits beyond what floats hold.
        shifted = wide - wide.max(1, keepdims=True)
        shifted /= self.temperature
        return softmax(shifted)


def _bound_without_optimum(likelihood: Likelihood) -> float | None:
    """The bound of T the log loss falls towards for ever; None where it has a minimum.

    With b → ∞ the slope tends to the mean distance of the true class from the top, with b → 0 to
    that of the average class from the true one; a minimum needs opposite signs.
    """
    below_top = -float(likelihood.own.mean(dtype=np.float64))
    average = likelihood.mean_below_top()
    if average == 0:
        return 1.0
    if below_top == 0:
        return LOWEST
    return HIGHEST if average + below_top >= 0 else None


def _rough_temperature(likelihood: Likelihood) -> float:
    """From some of the rows, or 1 where they have no optimum of their own."""
    few = likelihood.thinned(ROUGH)
    if len(few.logits) == len(likelihood.logits) or _bound_without_optimum(few) is not None:
        return 1.0
    return 1 / _newton(few, 1.0, 0.01)[0]


def _newton(likelihood: Likelihood, b: float, small: float) -> tuple[float, Slope]:
    """The b where the slope is zero, from a start; steps that leave the bracket are halved."""
    low, high = 0.5 / HIGHEST, 2 / LOWEST
    for _ in range(MOST_STEPS):
        slope = likelihood.slope(b)
        low, high = (b, high) if slope.first < 0 else (low, b)
        after = b - slope.first / slope.second if slope.second > 0 else 0.0
        if not low <= after <= high:
            after = math.sqrt(low * high)
        step, b = abs(after - b) / b, after
        if step <= small:
            break
    return b, slope


def _interval(b: float, slope: Slope, n: int, level: float) -> tuple[float, float]:
    """T within this factor: the sandwich estimate of the standard error of log b."""
    if not 0 < level < 1:
        raise BadInput(f"level is {level}; it must lie between 0 and 1, for example 0.95.")
    spread = math.sqrt(slope.squared / n) / (slope.second * b) if slope.second > 0 else math.inf
    factor = math.exp(min(NormalDist().inv_cdf((1 + level) / 2) * spread, 700.0))
    return 1 / b / factor, factor / b


def _grid_loss(
    likelihood: Likelihood,
    right: Shaped[np.ndarray, " n"],
    temperature: float,
    criterion: str,
    bins: int,
) -> float:
    """ECE or mean log loss at one temperature."""
    from mixcal.judging.metrics.reliability import Reliability

    n, k = likelihood.logits.shape
    total, sums = 0.0, Reliability.empty(bins=bins)
    for part in blocks(n, k):
        x = likelihood.logits[part].astype(np.float64) - likelihood.top[part, None]
        weight = np.exp(x / temperature).sum(1)
        if criterion == "grid-nll":
            total += float((np.log(weight) - likelihood.own[part] / temperature).sum())
        else:
            sums = sums + Reliability.of_confidence(1 / weight, right[part], bins=bins)
    return total / n if criterion == "grid-nll" else sums.expected_error()
