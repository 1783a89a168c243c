"""Brier score as a loss, also called the L2 loss (Brier, Monthly Weather Review 78, 1950; no
preprint).

    L = Σ_k (p_k − q_k)²

It stands in for cross-entropy on the parts named; `reduction = "mean_K"` divides by the number of
classes. It is bounded, so a confidently wrong pseudo-label of a semi-supervised algorithm pulls
less than under cross-entropy. As in the paper.
"""

from collections.abc import Sequence
from functools import partial

from mixcal.core.facts import DataFacts
from mixcal.core.protocols import EVERYWHERE, Calibrator, Part
from mixcal.methods.losses.brier import Reduction
from mixcal.methods.losses.brier import brier as brier_score


def brier(
    facts: DataFacts, *, reduction: Reduction = "sum", parts: Sequence[Part] = EVERYWHERE
) -> Calibrator:
    """The score in place of cross-entropy, on the given parts."""
    return Calibrator(criteria=dict.fromkeys(parts, partial(brier_score, reduction=reduction)))
