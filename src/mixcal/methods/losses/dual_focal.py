"""Dual focal loss (Tao, Dong & Xu, ICML 2023; arXiv:2305.13665v1).

    L = − (1 − p_y + p_j)^γ log p_y,   p_j = max { p_k : p_k < p_y }, 0 if there is none

for a distribution q: Σ_k q_k of that. The gradient flows through p_j as well. As in the paper;
its γ was tuned for each network and data set, and 5 is only a starting point.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from mixcal.methods.losses.blocks import in_blocks, log_probs_and_probs, through_softmax
from mixcal.methods.losses.focal import rest
from mixcal.methods.losses.modulated import power
from mixcal.methods.losses.truth import Targets, in_full, largest_at

# Targets with no more classes a row than this are looked up one by one, others sorted.
FEW = 2


def dual_focal(
    logits: Float[Tensor, "n k"], targets: Targets, *, gamma: float = 5.0
) -> Float[Tensor, " n"]:
    """The loss of each sample."""
    logits, targets = in_full(logits, targets)
    if targets.ndim == 1:
        return in_blocks(partial(_of_labels, gamma=gamma), logits, beside=(targets,))
    return in_blocks(partial(_of_distributions, gamma=gamma), logits, beside=(targets,))


def _of_labels(logits: Tensor, labels: Tensor, *, gamma: float) -> tuple[Tensor, tuple[Tensor]]:
    whole = torch.ones_like(logits[:, :1])
    return _of_few(logits, [(labels[:, None], whole)], gamma)


def _of_distributions(
    logits: Tensor, targets: Tensor, *, gamma: float
) -> tuple[Tensor, tuple[Tensor]]:
    # Counted by numpy, and on a CPU alone: an accelerator would have to be waited for.
    count = _most_classes(targets.numpy()) if targets.is_cpu else targets.shape[1]
    if count > FEW:
        return _of_all(logits, targets, gamma)
    found, rest_of = [], targets.clone()
    for _ in range(count):
        classes = largest_at(rest_of)[:, None]
        found.append((classes, rest_of.gather(1, classes)))
        rest_of.scatter_(1, classes, 0)
    return _of_few(logits, found, gamma)


def _most_classes(targets: Any) -> int:
    """How many classes a row of the targets names at most."""
    return int(np.count_nonzero(targets != 0, axis=1).max(initial=0))


def _of_few(
    logits: Float[Tensor, "n k"],
    found: Sequence[tuple[Int[Tensor, "n 1"], Float[Tensor, "n 1"]]],
    gamma: float,
) -> tuple[Tensor, tuple[Tensor]]:
    """For one class of each row and its share, and maybe another."""
    logs, probs = log_probs_and_probs(logits)
    values, slopes = torch.zeros_like(logs[:, 0]), torch.zeros_like(logs)
    for classes, shares in found:
        exists, below = _next_of(logits, logits.gather(1, classes))
        loss, by_truth, by_runner_up = _terms(
            logs.gather(1, classes),
            probs.gather(1, classes),
            probs.gather(1, below) * exists,
            gamma,
        )
        values += (shares * loss).squeeze(1)
        slopes.scatter_add_(1, classes, shares * by_truth)
        slopes.scatter_add_(1, below, shares * by_runner_up)
    return values, (through_softmax(slopes, probs),)


def _next_of(
    logits: Float[Tensor, "n k"], truth: Float[Tensor, "n 1"]
) -> tuple[Tensor, Int[Tensor, "n 1"]]:
    """Whether some class lies strictly below the true one, and the largest of those."""
    # Pushed down by arithmetic: comparing and choosing element by element is many times dearer.
    far = torch.finfo(logits.dtype).min / 4
    pushed = (logits - truth).sign_().clamp_(max=0).add_(1)
    found = torch.addcmul(logits, pushed, logits.new_tensor(far))
    below = largest_at(found)[:, None]
    return found.gather(1, below) > far / 2, below


def _of_all(
    logits: Float[Tensor, "n k"], targets: Float[Tensor, "n k"], gamma: float
) -> tuple[Tensor, tuple[Tensor]]:
    """For all classes at once, in rising order: before the first of its equals comes p_j."""
    order = _rising(logits)
    logits, shares = logits.gather(1, order), targets.gather(1, order)
    logs, probs = log_probs_and_probs(logits)
    # Places as floats, exact for millions of classes: whole numbers are several times slower.
    begins = torch.zeros_like(logs)
    places = torch.arange(1, logs.shape[1], device=logs.device, dtype=logs.dtype)
    torch.mul((logits[:, 1:] - logits[:, :-1]).sign_(), places, out=begins[:, 1:])
    begins = begins.cummax(1).values
    below = begins.sub(1).clamp_(min=0).long()
    runner_up = probs.gather(1, below).mul_(begins.clamp_(max=1))
    values, by_truth, by_runner_up = _terms(logs, probs, runner_up, gamma)
    slopes = by_truth.mul_(shares).scatter_add_(1, below, by_runner_up.mul_(shares))
    slopes = through_softmax(slopes, probs)
    return values.mul_(shares).sum(1), (torch.empty_like(slopes).scatter_(1, order, slopes),)


def _rising(logits: Float[Tensor, "n k"]) -> Int[Tensor, "n k"]:
    """The classes of each row in rising order; numpy's sort is several times torch's on a CPU."""
    if logits.is_cpu:
        return torch.from_numpy(np.argsort(logits.numpy(), axis=1))
    return logits.argsort(1)


def _terms(
    logs: Float[Tensor, "*n"],
    probs: Float[Tensor, "*n"],
    runner_up: Float[Tensor, "*n"],
    gamma: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The loss of the true class and p_j, and its slopes by log p_y and log p_j."""
    base = rest(probs).add_(runner_up)
    factor = power(base, gamma)
    pull = (factor / base).mul_(logs).mul_(-gamma)
    return -factor * logs, -torch.addcmul(factor, pull, probs), pull * runner_up
