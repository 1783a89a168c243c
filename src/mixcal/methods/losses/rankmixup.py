"""RankMixup (Noh et al., ICCV 2023; arXiv:2308.11990v1).

"ndcg", M mixed rows for each row, ordered by the largest entry l of their targets, the raw row
first with l = 1; c is the confidence of each:

    DCG = Σ_k c_(k) / log2(k + 1),   IDCG = Σ_k l_(k) / log2(k + 1)
    L = CE(raw) + w · (1 − min(DCG, IDCG) / max(DCG, IDCG))

"mrl", one mixed row each; c is the largest logit, or in `space = "prob"` the confidence:

    L = CE(raw) + w · max(0, c(mixed) − c(raw) + m),   the second part 0 for mixes of one class

Targets are constants, the gradient flows through all confidences. As in the paper, with largest
logits for "mrl" as in its code: a margin of 2 means nothing between probabilities.
"""

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from mixcal.methods.losses.choices import known
from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.truth import Targets, confidences, stacked, widened

Variant = Literal["ndcg", "mrl"]
Space = Literal["logit", "prob"]
# λ + (1 − λ) of one class may fall short of one by rounding.
ONE_CLASS = 1 - 1e-6


def rankmixup(
    logits: Float[Tensor, "n k"],
    targets: Targets,
    *,
    mixed_logits: Float[Tensor, "m n k"],
    mixed_targets: Float[Tensor, "m n k"],
    variant: Variant = "ndcg",
    weight: float = 0.1,
    margin: float = 2.0,
    space: Space = "logit",
) -> Float[Tensor, " n"]:
    """Cross-entropy of each raw row plus what its mixed rows' confidences are out of order.

    The first dimension of `mixed_logits` counts the mixed rows of a row; "mrl" averages over them.
    """
    known(variant, Variant, option="variant")
    known(space, Space, option="space")
    stacked(mixed_logits, logits, name="mixed_logits")
    stacked(mixed_targets, logits, name="mixed_targets")
    confidence_of = confidences if variant == "ndcg" or space == "prob" else _largest
    own = confidence_of(widened(logits))
    mixed = torch.stack([confidence_of(widened(part)) for part in mixed_logits])
    largest = mixed_targets.detach().amax(2)
    if variant == "ndcg":
        disorder = _one_less_ndcg(own, mixed, largest)
    else:
        differ = largest < ONE_CLASS
        disorder = (F.relu(mixed - own + margin) * differ).mean(0)
    return cross_entropy(logits, targets) + weight * disorder


def _largest(logits: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
    return logits.max(1).values


def _one_less_ndcg(
    own: Float[Tensor, " n"], mixed: Float[Tensor, "m n"], largest: Float[Tensor, "m n"]
) -> Float[Tensor, " n"]:
    """1 − NDCG: 0 when every confidence equals its target's largest entry."""
    ideal, order = largest.sort(dim=0, descending=True, stable=True)
    gains = torch.cat([own[None], mixed.gather(0, order)])
    ideals = torch.cat([torch.ones_like(own)[None], ideal.to(own.dtype)])
    places = torch.arange(len(gains), device=own.device, dtype=own.dtype) + 2
    discount = places.log2()[:, None]
    dcg, idcg = (gains / discount).sum(0), (ideals / discount).sum(0)
    return 1 - torch.minimum(dcg, idcg) / torch.maximum(dcg, idcg)
