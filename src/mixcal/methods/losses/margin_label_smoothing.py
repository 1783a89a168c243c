"""Margin-based label smoothing, MbLS (Liu et al., CVPR 2022; arXiv:2111.15430v4).

    L = CE(z, q) + α · 1/K Σ_k max(0, max_j z_j − z_k − m)

The mean over the classes is that of the published code; the largest logit's own distance is 0 and
counts in the divisor. The gradient flows into the largest logit, too. As in the paper, whose margin
is 6 on CIFAR and 10 on Tiny-ImageNet and ImageNet.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.truth import Targets, in_full, largest_at


def logit_distances(logits: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    """max_j z_j − z_k of every class."""
    return logits.amax(1, keepdim=True) - logits


def margin_label_smoothing(
    logits: Float[Tensor, "n k"], targets: Targets, *, margin: float = 10.0, alpha: float = 0.1
) -> Float[Tensor, " n"]:
    """Cross-entropy plus a penalty on logits farther than the margin below the largest."""
    logits, targets = in_full(logits, targets)
    return cross_entropy(logits, targets) + alpha * _MeanExcess.apply(logits, margin)


class _MeanExcess(torch.autograd.Function):
    """1/K Σ_k max(0, d_k − m) with few copies of the logits: they are what costs."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, margin: float) -> Tensor:
        top = largest_at(logits)[:, None]
        excess = (logits.gather(1, top) - logits).sub_(margin).clamp_(min=0)
        ctx.save_for_backward(excess, top)
        return excess.mean(1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        excess, top = ctx.saved_tensors
        found = excess.sign() * (-grad / excess.shape[1])[:, None]
        # Every distance is from the largest logit.
        return found.scatter_add_(1, top, -found.sum(1, keepdim=True)), None
