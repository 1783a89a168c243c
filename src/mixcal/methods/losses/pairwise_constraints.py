"""Calibration by pairwise constraints, CPC (Cheng & Vasconcelos, CVPR 2022, pages 13709-13718; no
preprint).

    BDC = −1/(K − 1) Σ_{j ≠ y} log σ(z_y − z_j)                         discrimination
    BEC = −1/(2 (K − 1)(K − 2)) Σ_{i ≠ j; i, j ≠ y} log σ(z_i − z_j)    exclusion, K ≥ 3
    L = CE + a BDC + b BEC;   for a distribution q:  Σ_k q_k of that

Differs from the code of CALS (arXiv:2211.15088v2), which sums BEC over i = j as well: a constant
½ log 2 / (K − 2) without a gradient. a = 0.1 and b = 1 are that code's.

With g(d) = softplus(d) + softplus(−d) and R_k = Σ_{j ≠ k} g(z_k − z_j), the pairs without y sum to
½ Σ_k R_k − R_y; the R are summed in chunks, so memory grows with N K, not N K².
"""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.truth import Targets, at_truth, in_full, weighed

CHUNK_PAIRS = 1 << 18


def pairwise_constraints(
    logits: Float[Tensor, "n k"],
    targets: Targets,
    *,
    discrimination_weight: float = 0.1,
    exclusion_weight: float = 1.0,
) -> Float[Tensor, " n"]:
    """Cross-entropy plus both constraints."""
    logits, targets = in_full(logits, targets)
    loss = cross_entropy(logits, targets)
    # Of one class there are no pairs.
    if logits.shape[1] < 2 or (discrimination_weight == 0 and exclusion_weight == 0):
        return loss
    rows = pair_sums(logits) if exclusion_weight or targets.ndim == 2 else logits
    if discrimination_weight:
        loss = loss + discrimination_weight * _discrimination(logits, targets, rows)
    if exclusion_weight:
        loss = loss + exclusion_weight * _exclusion(targets, rows)
    return loss


def _discrimination(
    logits: Float[Tensor, "n k"], targets: Targets, rows: Float[Tensor, "n k"]
) -> Float[Tensor, " n"]:
    """BDC. For labels directly; for all classes from R, as softplus(d) = ½ (g(d) + d)."""
    classes = logits.shape[1]
    if targets.ndim == 1:
        beyond = F.softplus(logits - at_truth(logits, targets)[:, None])
        # The true class against itself is log 2.
        return (beyond.sum(1) - beyond.new_tensor(2.0).log()) / (classes - 1)
    every = (rows + logits.sum(1, keepdim=True) - classes * logits) / (2 * (classes - 1))
    return weighed(every, targets)


def _exclusion(targets: Targets, rows: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
    """BEC from R; 0 for two classes, where nothing is left to exclude."""
    classes = rows.shape[1]
    if classes < 3:
        return rows.sum(1) * 0
    mass = targets.sum(1) if targets.ndim == 2 else 1.0
    pairs = rows.sum(1) / 2 * mass - weighed(at_truth(rows, targets), targets)
    return pairs / (2 * (classes - 1) * (classes - 2))


def pair_sums(logits: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    """R: for every class, Σ_{j ≠ k} softplus(z_k − z_j) + softplus(z_j − z_k)."""
    return _PairSums.apply(logits)


class _PairSums(torch.autograd.Function):
    """Sums over all pairs, chunk by chunk; the slope of g(d) is tanh(d / 2)."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor) -> Tensor:
        ctx.save_for_backward(logits)
        sums = torch.empty_like(logits)
        for rows, classes in _chunks(logits):
            apart = (logits[rows, classes, None] - logits[rows, None, :]).abs_()
            linear = apart.sum(2)
            curved = apart.neg_().exp_().log1p_().sum(2)
            sums[rows, classes] = linear + 2 * curved
        # Each class against itself has added g(0) = 2 log 2.
        return sums - 2 * logits.new_tensor(2.0).log()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (logits,) = ctx.saved_tensors
        found = torch.empty_like(logits)
        for rows, classes in _chunks(logits):
            slopes = (logits[rows, classes, None] - logits[rows, None, :]).mul_(0.5).tanh_()
            own = grad[rows, classes] * slopes.sum(2)
            found[rows, classes] = own + slopes.mul_(grad[rows, None, :]).sum(2)
        return found


def _chunks(logits: Tensor) -> list[tuple[slice, slice]]:
    """Blocks of samples and classes with a bounded number of pairs."""
    samples, classes = logits.shape
    rows = max(1, CHUNK_PAIRS // (classes * classes))
    wide = min(classes, max(1, CHUNK_PAIRS // (rows * classes)))
    return [
        (slice(row, row + rows), slice(first, first + wide))
        for row in range(0, samples, rows)
        for first in range(0, classes, wide)
    ]
