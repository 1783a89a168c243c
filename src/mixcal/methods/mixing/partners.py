"""Partners: for every anchor a random one of its k most dissimilar candidates.

One matrix product, one sort, one random number a row; no loop, and nothing asks the device.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Dissimilarity = Literal["cosine", "euclidean"]


def similarities(
    anchors: Float[Tensor, "n d"], candidates: Float[Tensor, "m d"], *, kind: Dissimilarity
) -> Float[Tensor, "n m"]:
    """Cosine similarity, or the negative Euclidean distance."""
    if kind == "cosine":
        return _unit(anchors) @ _unit(candidates).T
    return -torch.cdist(anchors, candidates)


def _unit(rows: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    return rows / rows.norm(dim=1, keepdim=True).clamp(min=1e-12)


def dissimilar_partners(
    similarity: Float[Tensor, "n m"],
    allowed: Bool[Tensor, "n m"],
    *,
    k: float,
    fate: Float[Tensor, " n"],
) -> tuple[Int[Tensor, " n"], Bool[Tensor, " n"]]:
    """A candidate for each anchor, and whether it had any.

    `k` below one is a share of the anchor's allowed candidates, rounded, at least one; from one on
    a count; 0 means any candidate. `fate` is one uniform number a row.
    """
    count = allowed.sum(1)
    wanted = (k * count).round() if 0 < k < 1 else torch.full_like(count, int(k)).float()
    wanted = wanted.clamp(min=1) if k else count.float()
    wanted = torch.minimum(wanted, count.float())
    # Forbidden candidates come last in the order and are never reached.
    order = similarity.masked_fill(~allowed, float("inf")).argsort(dim=1, stable=True)
    place = (fate * wanted).floor().minimum(wanted - 1).clamp(min=0).long()
    return order.gather(1, place[:, None])[:, 0], count > 0
