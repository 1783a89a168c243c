"""Focal calibration loss, FCL (Liang et al., 2024; arXiv:2410.18321v1).

    L = focal_γ(z, q) + λ Σ_k (p_k − q_k)²

It stands in for cross-entropy on the parts named. With a semi-supervised algorithm pseudo-labels
count like labels. No code was published: the norm is squared, since only the square is a proper
score, and summed over the classes; γ = 3, λ = 0.5 as CSM (arXiv:2504.13548v2) used it.
"""

from collections.abc import Sequence
from functools import partial

from mixcal.core.facts import DataFacts
from mixcal.core.protocols import EVERYWHERE, Calibrator, Part
from mixcal.methods.calibrators.ranges import NOT_NEGATIVE, within
from mixcal.methods.losses.focal_calibration import focal_calibration


def fcl(
    facts: DataFacts,
    *,
    gamma: float = 3.0,
    weight: float = 0.5,
    parts: Sequence[Part] = EVERYWHERE,
) -> Calibrator:
    """Focal loss plus the weighted Brier score, on the given parts."""
    within("fcl", locals(), {"gamma": NOT_NEGATIVE, "weight": NOT_NEGATIVE})
    criterion = partial(focal_calibration, gamma=gamma, weight=weight)
    return Calibrator(criteria=dict.fromkeys(parts, criterion))
