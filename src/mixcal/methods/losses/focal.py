"""Focal loss for calibration (Lin et al., ICCV 2017, arXiv:1708.02002v2; Mukhoti et al.,
NeurIPS 2020, arXiv:2002.09437v2).

    L = − (1 − p_y)^γ log p_y;   for a distribution q:  Σ_k q_k of that

FLSD-53, sample-dependent: γ = 5 where p_y < 0.2, else 3. FLSc-531, scheduled: γ = 5, 3, 1 from
epochs 0, 100, 250 of 350. γ is a constant of each sample; otherwise the gradient flows through both
factors. As in the paper, but for the mean over the batch in place of its code's sum.
"""

from collections.abc import Sequence
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from mixcal.methods.losses.modulated import modulated, power
from mixcal.methods.losses.truth import Targets, in_full

LOW_PROBABILITY = 0.2


def focal(
    logits: Float[Tensor, "n k"], targets: Targets, *, gamma: float = 3.0
) -> Float[Tensor, " n"]:
    """The loss with one γ for all samples."""
    return modulated(*in_full(logits, targets), partial(focus, gamma=gamma))


def focal_sample_dependent(
    logits: Float[Tensor, "n k"],
    targets: Targets,
    *,
    gamma_low: float = 5.0,
    gamma: float = 3.0,
    below: float = LOW_PROBABILITY,
) -> Float[Tensor, " n"]:
    """γ = `gamma_low` where the true class has a probability under `below`, else `gamma`."""

    def by_probability(probs: Tensor) -> tuple[Tensor, Tensor]:
        share = rest(probs)
        # Arithmetic: comparing and choosing element by element is many times dearer.
        unsure = (below - probs).sign_().clamp_(min=0)
        factor = torch.lerp(power(share, gamma), power(share, gamma_low), unsure)
        exponents = unsure.mul_(gamma_low - gamma).add_(gamma)
        return factor, (factor / share).mul_(probs).mul_(exponents).neg_()

    return modulated(*in_full(logits, targets), by_probability)


def focus(
    probs: Float[Tensor, "*n"], *, gamma: float
) -> tuple[Float[Tensor, "*n"], Float[Tensor, "*n"]]:
    """(1 − p)^γ and its slope by log p."""
    share = rest(probs)
    factor = power(share, gamma)
    return factor, (factor / share).mul_(probs).mul_(-gamma)


def rest(probs: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """1 − p, never below its resolution: below one, a power of zero has an infinite slope."""
    return (1 - probs).clamp_(min=torch.finfo(probs.dtype).eps / 2)


def scheduled_gamma(epoch: int, gammas: Sequence[float], epochs: Sequence[int]) -> float:
    """γ of this epoch: `gammas[i]` from `epochs[i]` on."""
    return [g for g, first in zip(gammas, epochs, strict=True) if epoch >= first][-1]
