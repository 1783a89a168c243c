"""Brier score as a loss, also called the L2 loss (Brier, Monthly Weather Review 78, 1950).

    L = Σ_k (p_k − q_k)²

The sum over the classes; `reduction = "mean_K"` divides by their number, as the magnitudes printed
by Maronas et al. (arXiv:2003.09946v2) imply. As in the paper.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from mixcal.methods.losses.choices import known
from mixcal.methods.losses.truth import Targets, apart, in_full

Reduction = Literal["sum", "mean_K"]


def brier(
    logits: Float[Tensor, "n k"], targets: Targets, *, reduction: Reduction = "sum"
) -> Float[Tensor, " n"]:
    """The squared distance of the probabilities from the targets."""
    known(reduction, Reduction, option="reduction")
    logits, targets = in_full(logits, targets)
    squares = apart(torch.softmax(logits, dim=1), targets).square()
    return squares.sum(1) if reduction == "sum" else squares.mean(1)
