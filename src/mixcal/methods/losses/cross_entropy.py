"""Cross-entropy with labels or target distributions.

    − Σ_k q_k log p_k,   p = softmax(z)

A row of zeros as target costs nothing.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from mixcal.methods.losses.truth import Targets, at_truth, in_full, weighed


def cross_entropy(logits: Float[Tensor, "n k"], targets: Targets) -> Float[Tensor, " n"]:
    """−Σ_k q_k log p_k of each sample."""
    logits, targets = in_full(logits, targets)
    return -weighed(at_truth(torch.log_softmax(logits, dim=1), targets), targets)
