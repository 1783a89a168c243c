"""Class-adaptive label smoothing by an augmented Lagrangian, CALS (Liu et al., CVPR 2023;
arXiv:2211.15088v2).

    d_k = max_j z_j − z_k;   h_k = d_k / m − 1;   x_k = λ_k + ρ_k h_k
    L = CE(z, q) + 1/K Σ_k φ_k,   φ_k = (max(x_k, 0)² − λ_k²) / (2 ρ_k)

λ and ρ, one number a class, are constants here; between epochs they follow validation logits:

    λ_k ← mean over the samples of max(x_k, 0), kept within [1e-6, 1e6]
    ρ_k ← min(1.2 ρ_k, 10) where mean h_k > 0.9 · max(mean h_k an epoch before, 0); every 10 epochs

As in the paper; constants of the published code. Its m is 10.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from mixcal.core.errors import BadInput
from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.margin_label_smoothing import logit_distances
from mixcal.methods.losses.truth import Targets, in_full, largest_at

LEAST_MULTIPLIER, MOST_MULTIPLIER = 1e-6, 1e6
GROWTH, MOST_STIFFNESS, PROGRESS = 1.2, 10.0, 0.9


def class_adaptive_margin(
    logits: Float[Tensor, "n k"],
    targets: Targets,
    *,
    multipliers: Float[Tensor, " k"] | None = None,
    stiffness: Float[Tensor, " k"] | None = None,
    margin: float = 10.0,
) -> Float[Tensor, " n"]:
    """Cross-entropy plus the penalty; λ is `multipliers` (1e-6), ρ is `stiffness` (1)."""
    if not margin > 0:
        raise BadInput(f"margin is {margin}; it must be above 0.")
    logits, targets = in_full(logits, targets)
    if multipliers is None:
        multipliers = logits.new_full((logits.shape[1],), LEAST_MULTIPLIER)
    if stiffness is None:
        stiffness = logits.new_ones(logits.shape[1])
    penalty = margin_penalty(logits, multipliers, stiffness, margin=margin)
    return cross_entropy(logits, targets) + penalty


def margin_penalty(
    logits: Float[Tensor, "n k"],
    multipliers: Float[Tensor, " k"],
    stiffness: Float[Tensor, " k"],
    *,
    margin: float,
) -> Float[Tensor, " n"]:
    """1/K Σ_k φ_k of each sample."""
    divisor = 2 * stiffness * logits.shape[1]
    squares = _Squares.apply(logits, multipliers - stiffness, stiffness / margin, 1 / divisor)
    return squares - (multipliers.square() / divisor).sum()


class _Squares(torch.autograd.Function):
    """Σ_k w_k max(0, a_k + b_k d_k)² with few copies of the logits: they are what costs."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, offsets: Tensor, slopes: Tensor, weights: Tensor
    ) -> Tensor:
        top = largest_at(logits)[:, None]
        distances = logits.gather(1, top) - logits
        pull = distances.mul_(slopes).add_(offsets).clamp_(min=0)
        ctx.save_for_backward(pull, top, 2 * weights * slopes)
        return pull.square() @ weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        pull, top, slopes = ctx.saved_tensors
        found = pull * slopes
        found *= -grad[:, None]
        # Every distance is from the largest logit.
        return found.scatter_add_(1, top, -found.sum(1, keepdim=True)), None, None, None


def violations(logits: Float[Tensor, "n k"], *, margin: float) -> Float[Tensor, "n k"]:
    """h: how far each logit lies beyond the margin, in margins."""
    return logit_distances(logits) / margin - 1


def next_multipliers(
    logits: Float[Tensor, "n k"],
    multipliers: Float[Tensor, " k"],
    stiffness: Float[Tensor, " k"],
    *,
    margin: float,
) -> Float[Tensor, " k"]:
    """λ of the next epoch, from validation logits."""
    pull = multipliers + stiffness * violations(logits, margin=margin)
    return pull.clamp(LEAST_MULTIPLIER, MOST_MULTIPLIER).mean(0)


def next_stiffness(
    stiffness: Float[Tensor, " k"], now: Float[Tensor, " k"], before: Float[Tensor, " k"]
) -> Float[Tensor, " k"]:
    """ρ of the next epochs: it grows for classes whose mean violation has not shrunk enough."""
    stuck = now > PROGRESS * before.clamp(min=0)
    return torch.where(stuck, (GROWTH * stiffness).clamp(max=MOST_STIFFNESS), stiffness)
