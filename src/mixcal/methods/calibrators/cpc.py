"""Calibration by pairwise constraints, CPC (Cheng & Vasconcelos, CVPR 2022, pages 13709-13718; no
preprint).

    L = CE + a BDC + b BEC
    BDC = −1/(K − 1) Σ_{j ≠ y} log σ(z_y − z_j)
    BEC = −1/(2 (K − 1)(K − 2)) Σ_{i ≠ j; i, j ≠ y} log σ(z_i − z_j)

It stands in for cross-entropy on the parts named; for a distribution q it is Σ_k q_k of that. With
a semi-supervised algorithm pseudo-labels count like labels. a = 0.1 and b = 1 are those of the
published code of CALS (arXiv:2211.15088v2), which also sums BEC over i = j: a constant without a
gradient, left out here.
"""

from collections.abc import Sequence
from functools import partial

from mixcal.core.facts import DataFacts
from mixcal.core.protocols import EVERYWHERE, Calibrator, Part
from mixcal.methods.calibrators.ranges import NOT_NEGATIVE, within
from mixcal.methods.losses.pairwise_constraints import pairwise_constraints


def cpc(
    facts: DataFacts,
    *,
    discrimination_weight: float = 0.1,
    exclusion_weight: float = 1.0,
    parts: Sequence[Part] = EVERYWHERE,
) -> Calibrator:
    """Cross-entropy plus both constraints, on the given parts."""
    within(
        "cpc", locals(), {"discrimination_weight": NOT_NEGATIVE, "exclusion_weight": NOT_NEGATIVE}
    )
    criterion = partial(
        pairwise_constraints,
        discrimination_weight=discrimination_weight,
        exclusion_weight=exclusion_weight,
    )
    return Calibrator(criteria=dict.fromkeys(parts, criterion))
