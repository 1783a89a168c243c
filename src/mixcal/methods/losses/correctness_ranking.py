"""Correctness ranking loss, CRL (Moon et al., ICML 2020; arXiv:2007.01458v3).

    c̃_i = (C_i − min C) / (C_most − min C);   κ_i = max p_i
    j = i + 1 (mod N);   g = sign(c̃_i − c̃_j)
    L = CE(z, q) + w · max(0, −g (κ_i − κ_j) + |c̃_i − c̃_j|),   the second part 0 where g = 0

C_i counts how often sample i was classified correctly so far, C_most how often it could have been.
The counts are constants; the gradient flows through both confidences. As in the paper. Where all
counts equal C_most the published code divides by zero; here c̃ is 0.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Shaped
from torch import Tensor

from mixcal.methods.losses.truth import Targets, at_truth, in_full, largest, weighed


def correctness_ranking(
    logits: Float[Tensor, "n k"],
    targets: Targets,
    *,
    counts: Shaped[Tensor, " n"],
    most: float | Tensor,
    least: float | Tensor | None = None,
    weight: float = 1.0,
) -> Float[Tensor, " n"]:
    """Cross-entropy plus the weighted ranking loss of each row and its successor.

    `counts` are the rows' C, `most` is C_most, `least` the smallest count of the whole training
    set; None takes that of these rows.
    """
    logits, targets = in_full(logits, targets)
    if least is None:
        least = counts.min() if len(counts) else most
    history = correctness_share(counts, most, least)
    logs = torch.log_softmax(logits, dim=1)
    ranking = ranking_losses(largest(logs).exp(), history.to(logits.dtype))
    return weight * ranking - weighed(at_truth(logs, targets), targets)


def correctness_share(
    counts: Shaped[Tensor, " n"], most: float | Tensor, least: float | Tensor
) -> Float[Tensor, " n"]:
    """c̃ in [0, 1]; 0 where the counts tell nothing."""
    span = torch.as_tensor(most - least, device=counts.device, dtype=torch.float32)
    above = (counts - least).float()
    return torch.where(span > 0, above / span.clamp(min=1e-6), 0).clamp(0, 1)


def ranking_losses(
    confidence: Float[Tensor, " n"], history: Float[Tensor, " n"]
) -> Float[Tensor, " n"]:
    """How much each row's confidence is out of order with its successor's."""
    gap = history - history.roll(-1)
    apart = confidence - confidence.roll(-1)
    return F.relu(gap.abs() - gap.sign() * apart) * (gap != 0)
