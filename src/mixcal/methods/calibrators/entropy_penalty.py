"""Penalty on low entropy, ERL or ECP (Pereyra et al., ICLR 2017 workshop; arXiv:1701.06548v1,
section 3).

    L = CE(z, q) − β H(p),   H(p) = − Σ_k p_k log p_k

It stands in for cross-entropy on the parts named. With a semi-supervised algorithm an unlabeled row
brings its entropy with the weight of its pseudo-label. As in the paper; `entropy_reduction =
"mean_K"` divides H by the number of classes, as the code behind the rows of MbLS, RankMixup and CSM
(arXiv:2504.13548v2) does.
"""

from collections.abc import Sequence
from functools import partial

from mixcal.core.facts import DataFacts
from mixcal.core.protocols import EVERYWHERE, Calibrator, Part
from mixcal.methods.calibrators.ranges import NOT_NEGATIVE, within
from mixcal.methods.losses.entropy_penalty import EntropyReduction
from mixcal.methods.losses.entropy_penalty import entropy_penalty as penalized_cross_entropy


def entropy_penalty(
    facts: DataFacts,
    *,
    beta: float = 0.1,
    entropy_reduction: EntropyReduction = "sum",
    parts: Sequence[Part] = EVERYWHERE,
) -> Calibrator:
    """Cross-entropy less β times the entropy, on the given parts."""
    within("entropy-penalty", locals(), {"beta": NOT_NEGATIVE})
    criterion = partial(penalized_cross_entropy, beta=beta, entropy_reduction=entropy_reduction)
    return Calibrator(criteria=dict.fromkeys(parts, criterion))
