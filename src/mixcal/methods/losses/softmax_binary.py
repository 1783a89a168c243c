"""Binary cross-entropy of softmax outputs, averaged over the classes.

    1/K Σ_k − q_k log p_k − (1 − q_k) log(1 − p_k),   p = softmax(z) within [10⁻⁷, 1 − 10⁻⁷]

What the published code of manifold mixup (arXiv:1806.05236v7) trains with, in place of the paper's
cross-entropy.
"""

import torch
from jaxtyping import Float
from torch import Tensor

LEAST = 1e-7


def softmax_binary_cross_entropy(
    logits: Float[Tensor, "n k"], targets: Float[Tensor, "n k"]
) -> Float[Tensor, " n"]:
    """The mean over the classes, one value a sample."""
    probs = logits.softmax(1).clamp(LEAST, 1 - LEAST)
    return -(targets * probs.log() + (1 - targets) * torch.log1p(-probs)).mean(1)
