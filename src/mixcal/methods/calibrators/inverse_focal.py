"""Inverse focal loss (Wang, Feng & Zhang, NeurIPS 2021, "Rethinking Calibration of Deep Neural
Networks: Do Not Be Afraid of Overconfidence", section 4; no preprint).

    L = − (1 + p_y)^γ log p_y

It stands in for cross-entropy on the parts named; for a distribution q it is Σ_k q_k of that. Easy
samples weigh more, and the overconfidence is left to a rescaler at the end of the run. With a
semi-supervised algorithm the unlabeled rows keep their plain loss by default, since a threshold on
confidence relies on it. As in two independent reimplementations that agree; γ is tuned there
between 1 and 3.
"""

from collections.abc import Sequence
from functools import partial

from mixcal.core.facts import DataFacts
from mixcal.core.protocols import Calibrator, Part
from mixcal.methods.calibrators.ranges import NOT_NEGATIVE, within
from mixcal.methods.losses.inverse_focal import inverse_focal as inverse_focal_loss

WHERE_NO_THRESHOLD_RELIES_ON_IT: tuple[Part, ...] = ("labeled", "mixed")


def inverse_focal(
    facts: DataFacts,
    *,
    gamma: float = 2.0,
    parts: Sequence[Part] = WHERE_NO_THRESHOLD_RELIES_ON_IT,
) -> Calibrator:
    """The loss on the given parts."""
    within("inverse-focal", locals(), {"gamma": NOT_NEGATIVE})
    return Calibrator(criteria=dict.fromkeys(parts, partial(inverse_focal_loss, gamma=gamma)))
