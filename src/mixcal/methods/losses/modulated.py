"""Cross-entropy whose classes weigh by what they got already, with its slope.

    L = − Σ_k q_k w(p_k) log p_k,   by log p_k:  − q_k (w + w′ log p_k),  w′ = dw / d log p

Of labels only the true class is read.
"""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from mixcal.methods.losses.blocks import in_blocks, log_probs_and_probs, through_softmax
from mixcal.methods.losses.truth import Targets, at_truth

# p to w and w′.
Factor = Callable[[Tensor], tuple[Tensor, Tensor]]
MOST_PRODUCTS = 16


def modulated(
    logits: Float[Tensor, "n k"], targets: Targets, factor: Factor
) -> Float[Tensor, " n"]:
    """The loss of each sample."""
    if targets.ndim == 2:
        return in_blocks(partial(_of_all, factor=factor), logits, beside=(targets,))
    truth = at_truth(torch.log_softmax(logits, dim=1), targets)
    return in_blocks(partial(_of_one, factor=factor), truth[:, None])


def _of_one(truth: Tensor, *, factor: Factor) -> tuple[Tensor, tuple[Tensor]]:
    """For the true class alone; the slope is by its log p."""
    values, slopes = modulated_parts(truth, truth.exp(), factor)
    return values.squeeze(1), (slopes,)


def _of_all(logits: Tensor, targets: Tensor, *, factor: Factor) -> tuple[Tensor, tuple[Tensor]]:
    logs, probs = log_probs_and_probs(logits)
    values, slopes = modulated_parts(logs, probs, factor)
    return (targets * values).sum(1), (through_softmax(slopes.mul_(targets), probs),)


def modulated_parts(
    logs: Float[Tensor, "*n"], probs: Float[Tensor, "*n"], factor: Factor
) -> tuple[Float[Tensor, "*n"], Float[Tensor, "*n"]]:
    """−w log p, and its slope by log p."""
    weight, steepness = factor(probs)
    slopes = steepness.mul_(logs).add_(weight).neg_()
    return (weight * logs).neg_(), slopes


def power(base: Float[Tensor, "*n"], exponent: float) -> Float[Tensor, "*n"]:
    """base^exponent; a whole exponent by products, a tenth of the cost."""
    if not 0 < exponent <= MOST_PRODUCTS or exponent != int(exponent):
        return base.pow(exponent)
    factors, square = [], base
    for digit in f"{int(exponent):b}"[::-1]:
        if digit == "1":
            factors.append(square)
        square = square * square
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result
