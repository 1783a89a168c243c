"""Remix: mixup whose targets lean towards rare classes (Chou et al., ECCV workshops 2020;
arXiv:2007.03943v3).

    x̃ as in mixup;   λ_y = 0 if n_i / n_j ≥ κ and λ < τ;   1 if n_i / n_j ≤ 1 / κ and 1 − λ < τ;
    else λ;   ỹ = λ_y y_i + (1 − λ_y) y_j

n_i is how many labeled images the class of row i has in the data, however batches are drawn. With
equal counts it is mixup. With a semi-supervised algorithm the labeled rows are mixed and the
unlabeled ones are left alone. As in the paper.
"""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from mixcal.core.facts import DataFacts
from mixcal.core.protocols import Calibrator
from mixcal.core.quantities import Range, Share, Size
from mixcal.methods.mixing.coefficients import mixing_weights
from mixcal.methods.mixing.pairs import PairMixer, Pairs, Weights, first_stage, permuted


def rebalanced(
    weight: Float[Tensor, " n"],
    first_counts: Float[Tensor, " n"],
    second_counts: Float[Tensor, " n"],
    *,
    kappa: float,
    tau: float,
) -> Float[Tensor, " n"]:
    """λ_y of each pair."""
    ratio = first_counts / second_counts
    to_second = (ratio >= kappa) & (weight < tau)
    to_first = (ratio <= 1 / kappa) & (1 - weight < tau)
    return weight.masked_fill(to_first, 1.0).masked_fill(to_second, 0.0)


def remix(
    facts: DataFacts,
    *,
    alpha: Size = 1.0,
    kappa: Annotated[float, Range(1)] = 3.0,
    tau: Share = 0.5,
) -> Calibrator:
    """Mixed rows in place of the labeled ones."""
    sizes = torch.tensor(facts.class_counts, dtype=torch.float32)

    def weigh(pairs: Pairs, generator: torch.Generator) -> Weights:
        weight = mixing_weights(alpha, pairs.first.targets, generator=generator)
        counts = sizes.to(weight.device, non_blocking=True)
        first, second = pairs.first.targets.argmax(1), pairs.second.targets.argmax(1)
        return weight, rebalanced(weight, counts[first], counts[second], kappa=kappa, tau=tau)

    return Calibrator(mixer=PairMixer(partners=permuted, weigh=weigh, stage=first_stage(facts)))
