"""Auto-regularised confidence, ARC (Maronas, Ramos & Paredes, ICPR workshops 2020;
arXiv:2003.09946v4, equation 3).

    V1 = 1/M Σ_b (mean of c over bin b − μ_b)²      V2 = 1/M Σ_b mean over bin b of (c − μ_b)²

c is the confidence, μ_b the accuracy within the bin: a constant, so the gradient flows through the
confidences alone. M bins of equal width part [0, 1] by confidence, each closed on the right, the
first on both sides; empty ones count in M. Several M: the mean over them.

The whole loss is CE + β ARC, and too large a β has a useless optimum: a network that answers with
the class frequencies. As in the paper. `bin_weight = "count"` weighs the bins by their share of the
samples in place of 1/M, as the published code does, whose tables with M > 1 were made so.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mixcal.core.errors import BadInput
from mixcal.methods.losses.choices import known
from mixcal.methods.losses.truth import Targets, answers, in_full

Version = Literal["V1", "V2"]
BinWeight = Literal["uniform", "count"]


def arc(
    logits: Float[Tensor, "n k"],
    targets: Targets,
    *,
    variant: Version = "V1",
    bins: int | Sequence[int] = 1,
    bin_weight: BinWeight = "uniform",
) -> Float[Tensor, ""]:
    """The penalty alone, one number for the batch; add β times it to a loss.

    Distributions count as correct by what they give the predicted class: for a mix of two labels
    that is λ acc(y₁) + (1 − λ) acc(y₂).
    """
    known(variant, Version, option="variant")
    known(bin_weight, BinWeight, option="bin_weight")
    logits, targets = in_full(logits, targets)
    confidence, correct = answers(logits, targets)
    counts = (bins,) if isinstance(bins, int) else tuple(bins)
    if not counts or min(counts) < 1:
        raise BadInput(f"bins is {bins}; give a number of bins, at least 1, or several.")
    values = [_binned(confidence, correct, many, variant, bin_weight) for many in counts]
    return torch.stack(values).mean()


def _binned(
    confidence: Float[Tensor, " n"],
    correct: Float[Tensor, " n"],
    bins: int,
    variant: Version,
    bin_weight: BinWeight,
) -> Float[Tensor, ""]:
    """The penalty for one number of bins."""
    where = _bin_of(confidence, bins)

    def summed(values: Float[Tensor, " n"]) -> Float[Tensor, " m"]:
        return values.new_zeros(bins).index_add(0, where, values)

    sizes = summed(torch.ones_like(confidence))
    divisor = sizes.clamp(min=1)
    accuracy = summed(correct) / divisor
    if variant == "V1":
        gaps = (summed(confidence) / divisor - accuracy).square() * (sizes > 0)
    else:
        gaps = summed((confidence - accuracy[where]).square()) / divisor
    if bin_weight == "uniform":
        return gaps.mean()
    return (gaps * sizes).sum() / sizes.sum().clamp(min=1)


def _bin_of(confidence: Float[Tensor, " n"], bins: int) -> Int[Tensor, " n"]:
    """The bin of each confidence, compared in float64: (l, u], the first closed."""
    inner = torch.arange(1, bins, device=confidence.device, dtype=torch.float64) / bins
    return torch.bucketize(confidence.detach().double(), inner)
