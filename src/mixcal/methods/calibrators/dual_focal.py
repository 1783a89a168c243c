"""Dual focal loss (Tao, Dong & Xu, ICML 2023; arXiv:2305.13665v1).

    L = − (1 − p_y + p_j)^γ log p_y,   p_j = max { p_k : p_k < p_y }, 0 if there is none

It stands in for cross-entropy on the parts named; for a distribution q it is Σ_k q_k of that. With
a semi-supervised algorithm pseudo-labels count like labels. As in the paper, whose γ was tuned for
each network and data set: 5 is only a starting point.
"""

from collections.abc import Sequence
from functools import partial

from mixcal.core.facts import DataFacts
from mixcal.core.protocols import EVERYWHERE, Calibrator, Part
from mixcal.methods.calibrators.ranges import NOT_NEGATIVE, within
from mixcal.methods.losses.dual_focal import dual_focal as dual_focal_loss


def dual_focal(
    facts: DataFacts, *, gamma: float = 5.0, parts: Sequence[Part] = EVERYWHERE
) -> Calibrator:
    """The loss on the given parts."""
    within("dual-focal", locals(), {"gamma": NOT_NEGATIVE})
    return Calibrator(criteria=dict.fromkeys(parts, partial(dual_focal_loss, gamma=gamma)))
