"""Binary cross-entropy of every class's logit by itself, averaged over the classes.

    1/K Σ_k − q_k log σ(z_k) − (1 − q_k) log(1 − σ(z_k))

What the published code of CalibrateMix trains its mixed rows with, in place of the paper's
cross-entropy.
"""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


def binary_cross_entropy(
    logits: Float[Tensor, "n k"], targets: Float[Tensor, "n k"]
) -> Float[Tensor, " n"]:
    """The mean over the classes, one value a sample."""
    return F.binary_cross_entropy_with_logits(logits, targets, reduction="none").mean(1)
