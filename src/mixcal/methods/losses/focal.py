"""Focal loss for calibration (Lin et al., ICCV 2017, arXiv:1708.02002v2; Mukhoti et al.,
NeurIPS 2020, arXiv:2002.09437v2).

    L = − (1 − p_y)^γ log p_y;   for a distribution q:  Σ_k q_k of that

FLSD-53, sample-dependent: γ = 5 where p_y < 0.2, else 3. FLSc-531, scheduled: γ = 5, 3, 1 from
epochs 0, 100, 250 of 350. γ is a constant of each sample; otherwise the gradient flows through both
factors. As in the paper, but for the mean over the batch in place of its code's sum.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from mixcal.methods.losses.truth import Targets, at_truth, in_full, weighed

LOW_PROBABILITY = 0.2


def focal(
    logits: Float[Tensor, "n k"], targets: Targets, *, gamma: float = 3.0
) -> Float[Tensor, " n"]:
    """The loss with one γ for all samples."""
    logits, targets = in_full(logits, targets)
    logs = at_truth(torch.log_softmax(logits, dim=1), targets)
    return -weighed(rest(logs).pow(gamma) * logs, targets)


def focal_sample_dependent(
    logits: Float[Tensor, "n k"],
    targets: Targets,
    *,
    gamma_low: float = 5.0,
    gamma: float = 3.0,
    below: float = LOW_PROBABILITY,
) -> Float[Tensor, " n"]:
    """γ = `gamma_low` where the true class has a probability under `below`, else `gamma`."""
    logits, targets = in_full(logits, targets)
    logs = at_truth(torch.log_softmax(logits, dim=1), targets)
    share = rest(logs)
    # p < below exactly when 1 - p > 1 - below, up to rounding; the logarithm decides.
    unsure = (logs.detach().exp() < below).to(logs.dtype)
    # Arithmetic: choosing element by element is many times dearer.
    factor = torch.lerp(share.pow(gamma), share.pow(gamma_low), unsure)
    return -weighed(factor * logs, targets)


def rest(logs: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """1 − p from log p, above zero: below one, a power of zero has an infinite slope."""
    return (-torch.expm1(logs)).clamp(min=torch.finfo(logs.dtype).tiny)


def scheduled_gamma(epoch: int, gammas: Sequence[float], epochs: Sequence[int]) -> float:
    """γ of this epoch: `gammas[i]` from `epochs[i]` on."""
    return [g for g, first in zip(gammas, epochs, strict=True) if epoch >= first][-1]
