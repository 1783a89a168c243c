"""Penalty on low entropy (Pereyra et al., ICLR 2017 workshop; arXiv:1701.06548v1, section 3).

    L = CE(z, q) − β H(p),   H(p) = − Σ_k p_k log p_k

Called entropy-regularised loss (ERL) and explicit confidence penalty (ECP) elsewhere. As in the
paper. `entropy_reduction = "mean_K"` divides H by the number of classes, as the code of MbLS,
RankMixup and CSM does, whose rows for this method were made with it: β = 0.1 there is 0.1 / K.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from mixcal.methods.losses.choices import known
from mixcal.methods.losses.truth import Targets, at_truth, in_full, weighed

EntropyReduction = Literal["sum", "mean_K"]


def entropy_penalty(
    logits: Float[Tensor, "n k"],
    targets: Targets,
    *,
    beta: float = 0.1,
    entropy_reduction: EntropyReduction = "sum",
) -> Float[Tensor, " n"]:
    """Cross-entropy less β times the entropy; the gradient flows through both."""
    known(entropy_reduction, EntropyReduction, option="entropy_reduction")
    logits, targets = in_full(logits, targets)
    logs = torch.log_softmax(logits, dim=1)
    weight = beta if entropy_reduction == "sum" else beta / logits.shape[1]
    return weight * (logs.exp() * logs).sum(1) - weighed(at_truth(logs, targets), targets)
