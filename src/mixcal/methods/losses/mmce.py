"""Maximum mean calibration error, MMCE (Kumar, Sarawagi & Jain, ICML 2018, PMLR 80; no preprint).

    k(a, b) = exp(− |a − b| / 0.4);   c confidence, r correctness (a constant), n₁ right, n₀ wrong

    "weighted"   √( Σ_ij u_i u_j k(c_i, c_j) ),     u = (1 − c) / n₁ if right, − c / n₀ if wrong
    "plain"      √( Σ_ij u_i u_j k(c_i, c_j) ),     u = (r − c) / N;   "m" is the same
    "m_sq"       the same without the root, as focal_calibration, RankMixup and CSM train with
    "port"       "weighted" with n √(n² + 1e-5) for n: the published code divides twice

The whole loss is CE + λ MMCE. As in the paper, whose weighted form needs both right and wrong
samples: a one-sided batch is 0 here, with a finite gradient. For a distribution a sample is right
by what it gives the predicted class and wrong by the rest. The gradient flows through c, inside k
too. Pairs are summed in chunks: memory grows with N, not N².
"""

from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from mixcal.methods.losses.choices import known
from mixcal.methods.losses.truth import Targets, answers, in_full

Variant = Literal["weighted", "plain", "m", "m_sq", "port"]
WIDTH = 0.4
# Keeps the slope of the root finite at zero.
ROOT_EPSILON = 1e-10
PORT_EPSILON = 1e-5
CHUNK_PAIRS = 1 << 20


def mmce(
    logits: Float[Tensor, "n k"], targets: Targets, *, variant: Variant = "weighted"
) -> Float[Tensor, ""]:
    """The penalty alone, one number for the batch; add λ times it to a loss."""
    known(variant, Variant, option="variant")
    logits, targets = in_full(logits, targets)
    confidence, correct = answers(logits, targets)
    if not len(correct):
        return confidence.sum()
    if variant in ("plain", "m", "m_sq"):
        square = kernel_form((correct - confidence) / len(correct), confidence)
        return square if variant == "m_sq" else (square + ROOT_EPSILON).sqrt()
    right = correct.sum()
    wrong = len(correct) - right
    both = (right > 0) & (wrong > 0)
    # Masked before the root: zero times an infinite slope would be NaN.
    share_right, share_wrong = (
        _divisor(torch.where(both, n, 1), twice=variant == "port") for n in (right, wrong)
    )
    pulls = correct * (1 - confidence) / share_right - (1 - correct) * confidence / share_wrong
    square = kernel_form(torch.where(both, pulls, 0), confidence)
    return torch.where(both, (square + ROOT_EPSILON).sqrt(), 0)


def _divisor(count: Float[Tensor, ""], *, twice: bool) -> Float[Tensor, ""]:
    return count * (count.square() + PORT_EPSILON).sqrt() if twice else count


def kernel_form(pulls: Float[Tensor, " n"], places: Float[Tensor, " n"]) -> Float[Tensor, ""]:
    """Σ_ij u_i u_j exp(−|c_i − c_j| / 0.4), never below zero."""
    return _KernelForm.apply(pulls, places)


class _KernelForm(torch.autograd.Function):
    """The form and its slopes in one sweep over chunks of rows."""

    @staticmethod
    def forward(ctx: Any, pulls: Tensor, places: Tensor) -> Tensor:
        sums, slopes = torch.empty_like(pulls), torch.empty_like(pulls)
        rows = max(1, CHUNK_PAIRS // max(1, len(pulls)))
        for start in range(0, len(pulls), rows):
            chunk = slice(start, start + rows)
            apart = places[chunk, None] - places
            weighted = torch.exp(apart.abs() / -WIDTH) * pulls
            sums[chunk] = weighted.sum(1)
            slopes[chunk] = (weighted * apart.sign()).sum(1) / -WIDTH
        ctx.save_for_backward(2 * sums, 2 * pulls * slopes)
        return (pulls * sums).sum().clamp(min=0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        by_pulls, by_places = ctx.saved_tensors
        return grad * by_pulls, grad * by_places
