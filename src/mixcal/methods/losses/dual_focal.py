"""Dual focal loss (Tao, Dong & Xu, ICML 2023; arXiv:2305.13665v1).

    L = − (1 − p_y + p_j)^γ log p_y,   p_j = max { p_k : p_k < p_y }, 0 if there is none

for a distribution q: Σ_k q_k of that. The gradient flows through p_j as well. As in the paper;
its γ was tuned for each network and data set, and 5 is only a starting point.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mixcal.methods.losses.truth import Targets, at_truth, in_full, weighed


def dual_focal(
    logits: Float[Tensor, "n k"], targets: Targets, *, gamma: float = 5.0
) -> Float[Tensor, " n"]:
    """The loss of each sample."""
    logits, targets = in_full(logits, targets)
    logs = torch.log_softmax(logits, dim=1)
    truth = at_truth(logs, targets)
    exists, below = _next_of_all(logs) if targets.ndim == 2 else _next_of(logs, truth)
    runner_up = torch.where(exists, logs.gather(1, below.view(len(logs), -1)).view_as(truth), 0)
    factor = (torch.where(exists, runner_up.exp(), 0) - torch.expm1(truth)).clamp(
        min=torch.finfo(logs.dtype).tiny
    )
    return -weighed(factor.pow(gamma) * truth, targets)


@torch.no_grad()
def _next_of(
    logs: Float[Tensor, "n k"], truth: Float[Tensor, " n"]
) -> tuple[Tensor, Int[Tensor, " n"]]:
    """Whether some class lies strictly below the true one, and the largest of those."""
    # Pushed down by arithmetic: choosing element by element is many times dearer.
    far = torch.finfo(logs.dtype).min / 4
    found = torch.addcmul(logs, (logs >= truth[:, None]).to(logs.dtype), logs.new_tensor(far))
    highest = found.max(1)
    return highest.values > far, highest.indices


@torch.no_grad()
def _next_of_all(logs: Float[Tensor, "n k"]) -> tuple[Tensor, Int[Tensor, "n k"]]:
    """The same for every class: in falling order, the first class after the last of its equals."""
    classes = logs.shape[1]
    ordered = logs.sort(1, descending=True)
    places = torch.arange(classes, device=logs.device).expand_as(logs)
    falls = torch.full_like(places, classes)
    drops = ordered.values[:, 1:] < ordered.values[:, :-1]
    falls[:, :-1] = torch.where(drops, places[:, 1:], classes)
    following = falls.flip(1).cummin(1).values.flip(1)
    exists = following < classes
    indices = ordered.indices.gather(1, following.clamp(max=classes - 1))
    own = ordered.indices
    return (
        torch.zeros_like(exists).scatter(1, own, exists),
        torch.zeros_like(indices).scatter(1, own, indices),
    )
