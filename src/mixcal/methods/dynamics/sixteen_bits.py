"""Rows of numbers in 16 bits each, for running means over ten thousand updates.

A float16 cannot hold a running mean: once an update is less than half a step between neighbours it
is lost, and after 9,400 visits the mean is off by units. Here every row has a lowest value and a
step of its own, 65,535 steps from its lowest to its highest value, and values are rounded up or
down so that what is lost at one visit comes back at another: by thresholds that run through
[0, 1) evenly with the visits (multiples of the golden ratio), another start for each cell.
"""

import torch
from jaxtyping import Float, Int, Int16
from torch import Tensor

LAST = 65_535
# A row that outgrows its range gets this much more room than it needs.
ROOM = 0.02
GOLDEN = 0.6180339887498949
SAMPLE_STRIDE = 0.7548776662466927
COLUMN_STRIDE = 0.4142135623730951
# Measured: the largest error after t visits is below this many steps times √(t / 10,000).
ERROR_STEPS = 100.0


def encoded(
    values: Float[Tensor, "n k"],
    bounds: Float[Tensor, "n 2"],
    index: Int[Tensor, " n"],
    visits: Int[Tensor, " n"],
) -> tuple[Int16[Tensor, "n k"], Float[Tensor, "n 2"]]:
    """Codes and, where the old (lowest, step) does not reach far enough, new bounds."""
    low, high = values.amin(1), values.amax(1)
    start, step = bounds.unbind(1)
    outside = (low < start) | (high > start + step * (LAST - 1)) | (step == 0)
    room = (high - low).clamp(min=1e-6) * ROOM
    start = torch.where(outside, low - room / 2, start)
    step = torch.where(outside, (high - low + room) / (LAST - 1), step)
    # In place: for a thousand classes every temporary costs more than the arithmetic.
    level = (values - start[:, None]).div_(step[:, None])
    level.add_(_thresholds(index, visits, values.shape[1])).floor_().clamp_(0, LAST)
    # torch has little arithmetic on unsigned 16-bit numbers; the codes are kept shifted.
    return level.sub_(32_768).to(torch.int16), torch.stack([start, step], dim=1)


def decoded(codes: Int16[Tensor, "n k"], bounds: Float[Tensor, "n 2"]) -> Float[Tensor, "n k"]:
    """The values that the codes stand for."""
    return codes.float().add_(32_768).mul_(bounds[:, 1:]).add_(bounds[:, :1])


def _thresholds(
    index: Int[Tensor, " n"], visits: Int[Tensor, " n"], columns: int
) -> Float[Tensor, "n k"]:
    """Where in [0, 1) each cell is rounded up at this visit."""
    row = (index.double() * SAMPLE_STRIDE + visits.double() * GOLDEN).frac().float()
    column = (torch.arange(columns, device=index.device).double() * COLUMN_STRIDE).frac().float()
    return (row[:, None] + column).frac_()
