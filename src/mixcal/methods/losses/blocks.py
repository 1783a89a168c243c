"""A loss whose slope is written down, a few rows at a time.

What a loss of many classes costs is memory that no cache holds. Here its formula answers with the
values and the slopes of some rows together, in one look at them, and only the slopes are kept. On
an accelerator all rows are one block.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

# Of a few tensors of this size, half a megabyte in float32, a processor's cache holds all.
BLOCK_NUMBERS = 1 << 17

# Blocks of each tensor to one value a row, and the slope of the values by each of the logits.
Sloped = Callable[..., tuple[Tensor, tuple[Tensor, ...]]]


def in_blocks(
    loss: Sloped, *logits: Float[Tensor, "n k"], beside: tuple[Tensor, ...] = ()
) -> Float[Tensor, " n"]:
    """loss(*logits, *beside), row by row; the tensors beside are constants."""
    return _Blocks.apply(loss, beside, *logits)


class _Blocks(torch.autograd.Function):
    """Values with their slopes, block after block."""

    @staticmethod
    def forward(ctx: Any, loss: Sloped, beside: tuple[Tensor, ...], *logits: Tensor) -> Tensor:
        count, classes = logits[0].shape
        rows = max(1, BLOCK_NUMBERS // max(1, classes)) if logits[0].is_cpu else max(1, count)
        values = logits[0].new_empty(count)
        slopes = [
            torch.empty_like(part) if needed else None
            for part, needed in zip(logits, ctx.needs_input_grad[2:], strict=True)
        ]
        for start in range(0, count, rows):
            block = slice(start, start + rows)
            values[block], found = loss(*(tensor[block] for tensor in (*logits, *beside)))
            for whole, piece in zip(slopes, found, strict=True):
                if whole is not None:
                    whole[block] = piece
        ctx.save_for_backward(*slopes)
        return values

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        slopes = (None if slope is None else slope * grad[:, None] for slope in ctx.saved_tensors)
        return None, None, *slopes


def log_probs_and_probs(
    logits: Float[Tensor, "n k"],
) -> tuple[Float[Tensor, "n k"], Float[Tensor, "n k"]]:
    """log p and p, from one exponential."""
    logs = logits - logits.amax(1, keepdim=True)
    probs = logs.exp()
    total = probs.sum(1, keepdim=True)
    return logs.sub_(total.log()), probs.div_(total)


def through_softmax(
    slopes: Float[Tensor, "n k"], probs: Float[Tensor, "n k"]
) -> Float[Tensor, "n k"]:
    """The slopes by the logits from those by the log-probabilities, which are given up for it."""
    return slopes.sub_(probs * slopes.sum(1, keepdim=True))
