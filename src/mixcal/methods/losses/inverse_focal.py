"""Inverse focal loss (Wang, Feng & Zhang, NeurIPS 2021, "Rethinking Calibration of Deep Neural
Networks: Do Not Be Afraid of Overconfidence", section 4; no preprint).

    L = − (1 + p_y)^γ log p_y;   for a distribution q:  Σ_k q_k of that

Easy samples weigh more; meant to be followed by temperature scaling. As in two independent
reimplementations that agree; γ is tuned there between 1 and 3.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from mixcal.methods.losses.truth import Targets, at_truth, in_full, weighed


def inverse_focal(
    logits: Float[Tensor, "n k"], targets: Targets, *, gamma: float = 2.0
) -> Float[Tensor, " n"]:
    """The loss of each sample."""
    logits, targets = in_full(logits, targets)
    logs = at_truth(torch.log_softmax(logits, dim=1), targets)
    return -weighed((1 + logs.exp()).pow(gamma) * logs, targets)
