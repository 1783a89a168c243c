"""Jensen-Shannon consistency of AugMix (Hendrycks et al., ICLR 2020; arXiv:1912.02781v2,
section 3).

    L = CE(z, q) + λ JSD(p; p₁; …; p_M),   JSD = mean over the M + 1 of KL(p_i ‖ p̄), p̄ their mean

λ = 12 and two augmented views in the paper; the rows of CSM (arXiv:2504.13548v2) have λ = 1.
Nothing is detached: the gradient flows through all predictions and through p̄, which is kept above
1e-7. As in the paper.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from mixcal.methods.losses.blocks import in_blocks, log_probs_and_probs, through_softmax
from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.truth import Targets, stacked, widened

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
    stacked(augmented_logits, logits, name="augmented_logits")
    apart = in_blocks(_sloped, widened(logits), *widened(augmented_logits))
    return cross_entropy(logits, targets) + weight * apart


def jensen_shannon_divergence(logits: Float[Tensor, "m n k"]) -> Float[Tensor, " n"]:
    """The mean divergence of several predictions of the same rows from their mean; in nats."""
    return in_blocks(_sloped, *widened(logits))


def _sloped(*logits: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The divergence, and with g = log p_i − log p̄, and 1 more where p̄ is held up, its slopes
    p_i (g − Σ p_i g) / M."""
    logs, probs = zip(*map(log_probs_and_probs, logits), strict=True)
    mean = sum(probs[1:], probs[0]) / len(probs)
    held = (mean < LEAST_MEAN).to(mean.dtype)
    log_mean = mean.clamp_(min=LEAST_MEAN, max=1).log_()
    values, slopes = torch.zeros_like(mean[:, 0]), []
    for gap, own in zip(logs, probs, strict=True):
        pull = gap.sub_(log_mean).mul_(own)
        values += pull.sum(1)
        slopes.append(through_softmax(pull.addcmul_(own, held), own).div_(len(logits)))
    return values.div_(len(logits)), tuple(slopes)
