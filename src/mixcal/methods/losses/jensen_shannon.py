"""Jensen-Shannon consistency of AugMix (Hendrycks et al., ICLR 2020; arXiv:1912.02781v2,
section 3).

    L = CE(z, q) + λ JSD(p; p₁; …; p_M),   JSD = mean over the M + 1 of KL(p_i ‖ p̄), p̄ their mean

λ = 12 and two augmented views in the paper; the rows of CSM (arXiv:2504.13548v2) have λ = 1.
Nothing is detached: the gradient flows through all predictions and through p̄, which is kept above
1e-7. As in the paper.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.truth import Targets, widened

LEAST_MEAN = 1e-7


def jensen_shannon(
    logits: Float[Tensor, "n k"],
    targets: Targets,
    *,
    augmented_logits: Float[Tensor, "m n k"],
    weight: float = 12.0,
) -> Float[Tensor, " n"]:
    """Cross-entropy of the clean rows plus the divergence between them and their augmented views.

    The first dimension of `augmented_logits` counts the views of a row.
    """
    views = torch.cat([logits[None], augmented_logits])
    return cross_entropy(logits, targets) + weight * jensen_shannon_divergence(views)


def jensen_shannon_divergence(logits: Float[Tensor, "m n k"]) -> Float[Tensor, " n"]:
    """The mean divergence of several predictions of the same rows from their mean; in nats."""
    return _Divergence.apply(widened(logits))


class _Divergence(torch.autograd.Function):
    """The divergence with few copies of the logits: they are what costs.

    With g = log p_i − log p̄, and 1 more where p̄ is held up, the slope is p_i (g − Σ p_i g) / M.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor) -> Tensor:
        gaps = torch.log_softmax(logits, dim=2)
        probs = gaps.exp()
        mean = probs.mean(0)
        held = (mean < LEAST_MEAN).to(mean.dtype)
        gaps -= mean.clamp_(min=LEAST_MEAN, max=1).log_()
        ctx.save_for_backward(probs, gaps, held)
        return (probs * gaps).sum(2).mean(0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        probs, gaps, held = ctx.saved_tensors
        pulls = (gaps + held).mul_(probs)
        pulls -= probs * pulls.sum(2, keepdim=True)
        return pulls.mul_((grad / len(probs))[:, None])
