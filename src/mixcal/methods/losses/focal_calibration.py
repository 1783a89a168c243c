"""Focal calibration loss, FCL (Liang et al., 2024; arXiv:2410.18321v1).

    L = focal_γ(z, q) + λ Σ_k (p_k − q_k)²

No code was published. The abstract speaks of a Euclidean norm and of a proper score; only the
squared norm is one, so it is squared, and summed over the classes. γ = 3, λ = 0.5 as CSM
(arXiv:2504.13548v2) used it.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from mixcal.methods.losses.focal import rest
from mixcal.methods.losses.truth import Targets, apart, at_truth, in_full, weighed


def focal_calibration(
    logits: Float[Tensor, "n k"], targets: Targets, *, gamma: float = 3.0, weight: float = 0.5
) -> Float[Tensor, " n"]:
    """Focal loss plus the weighted Brier score, from one softmax."""
    logits, targets = in_full(logits, targets)
    logs = torch.log_softmax(logits, dim=1)
    true = at_truth(logs, targets)
    focal = weighed(rest(true).pow(gamma) * true, targets)
    return weight * apart(logs.exp(), targets).square().sum(1) - focal
