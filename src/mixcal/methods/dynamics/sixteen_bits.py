"""Rows of numbers in 16 bits each, for running means over ten thousand updates.

    code = ⌊(value − center) / step + d⌋,   value ≈ center + code · step

A float16 cannot hold a running mean: once an update is less than half a step between neighbours it
is lost, and after 9,400 visits the mean is off by units. Here every row has a center and a step of
its own, 65,534 steps from its lowest to its highest value, and d runs through [0, 1) evenly with
the visits (multiples of the golden ratio, another start for each row): values are rounded up as
often as they are near the code above, and what is lost at one visit comes back at another.
"""

import math

import torch
from jaxtyping import Float, Int, Int16
from torch import Tensor

LAST = 32_767
# A row that outgrows its range gets this much more room than it needs; one that needs less than
# this share of its range gets a smaller one.
ROOM = 0.02
NEEDED = 0.8
GOLDEN = 0.6180339887498949
SAMPLE_STRIDE = 0.7548776662466927


def encoded(
    values: Float[Tensor, "n k"],
    bounds: Float[Tensor, "n 3"],
    index: Int[Tensor, " n"],
    visits: Int[Tensor, " n"],
    weight: Float[Tensor, " n"],
) -> tuple[Int16[Tensor, "n k"], Float[Tensor, "n 3"]]:
    """Codes, and each row's (center, step, variance of its errors).

    `visits` are those before this one; `weight` is how much this one counts: earlier errors fade
    as earlier margins do.
    """
    low, high = values.amin(1), values.amax(1)
    center, step, variance = bounds.unbind(1)
    fitting = (high - low).clamp(min=1e-6) * ((1 + ROOM) / (2 * LAST - 2))
    reach = step * (LAST - 1)
    # So that what is no number does not fit.
    fits = (low >= center - reach) & (high <= center + reach) & (fitting >= NEEDED * step)
    fits &= step > 0
    center = torch.where(fits, center, (low + high) / 2)
    step = torch.where(fits, step, fitting)
    # In place: for a thousand classes every temporary costs more than the arithmetic.
    level = (values - center[:, None]).div_(step[:, None]).add_(_threshold(index, visits)[:, None])
    codes = level.floor_().clamp_(-LAST, LAST).to(torch.int16)
    # Rounding up by evenly spread thresholds leaves what is uniform over one step: of the variance
    # 1/6 of other random rounding, the half that the thresholds bring cancels over the visits.
    variance = (1 - weight).square() * variance + step.square() / 12
    return codes, torch.stack([center, step, variance], dim=1)


def decoded(codes: Int16[Tensor, "n k"], bounds: Float[Tensor, "n 3"]) -> Float[Tensor, "n k"]:
    """The values that the codes stand for."""
    center, step, _ = bounds.unbind(1)
    return codes.float().mul_(step[:, None]).add_(center[:, None])


def largest_error(variance: Float[Tensor, " n"], cells: int) -> float:
    """What the errors of that many cells stay below, in 99 of 100 tables."""
    return math.sqrt(2 * math.log(20 * cells)) * math.sqrt(float(variance.max()))


def _threshold(index: Int[Tensor, " n"], visits: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
    """What is added before a row is rounded at this visit, in [0, 1)."""
    return (index.double() * SAMPLE_STRIDE + visits.double() * GOLDEN).frac().float()
