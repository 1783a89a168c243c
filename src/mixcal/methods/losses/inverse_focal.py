"""Inverse focal loss (Wang, Feng & Zhang, NeurIPS 2021, "Rethinking Calibration of Deep Neural
Networks: Do Not Be Afraid of Overconfidence", section 4; no preprint).

    L = − (1 + p_y)^γ log p_y;   for a distribution q:  Σ_k q_k of that

Easy samples weigh more; meant to be followed by temperature scaling. As in two independent
reimplementations that agree; γ is tuned there between 1 and 3.
"""

from jaxtyping import Float
from torch import Tensor

from mixcal.methods.losses.modulated import modulated, power
from mixcal.methods.losses.truth import Targets, in_full


def inverse_focal(
    logits: Float[Tensor, "n k"], targets: Targets, *, gamma: float = 2.0
) -> Float[Tensor, " n"]:
    """The loss of each sample."""

    def emphasis(probs: Tensor) -> tuple[Tensor, Tensor]:
        base = 1 + probs
        factor = power(base, gamma)
        return factor, (factor / base).mul_(probs).mul_(gamma)

    return modulated(*in_full(logits, targets), emphasis)
