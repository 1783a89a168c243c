"""Easy and hard: a batch cut at the median of its margins.

"rank": the lower half by rank is hard, ties in batch order; of an odd number the middle one is
easy. Sides keep their sizes, whatever the margins.
"median": at or above the median is easy, as CalibrateMix (arXiv:2511.12964v1) writes it. With ties
(few labels, many copies in a batch) the hard side may be empty.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

Split = Literal["rank", "median"]


def is_easy(
    margins: Float[Tensor, " n"],
    *,
    split: Split = "rank",
    threshold: Float[Tensor, ""] | None = None,
) -> Bool[Tensor, " n"]:
    """Which rows are easy; a given `threshold` (a pool's median) stands in for the batch's."""
    if threshold is not None:
        return margins >= threshold
    if split == "median":
        ascending = margins.sort().values
        # The mean of the two middle ones; torch's own median takes the lower.
        middle = (ascending[(len(margins) - 1) // 2] + ascending[len(margins) // 2]) / 2
        return margins >= middle
    order = margins.argsort(stable=True)
    rank = torch.empty_like(order)
    rank.scatter_(0, order, torch.arange(len(order), device=order.device))
    return rank >= len(margins) // 2
