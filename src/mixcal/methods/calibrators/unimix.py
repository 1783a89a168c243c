"""UniMix: mixup that evens out classes of unequal size (Xu, Chai & Yuan, NeurIPS 2021;
arXiv:2111.03874v3).

    partner j of row i drawn from the batch with probability ∝ n_{y_j}^τ,  τ ≤ 0
    λ_i = (Beta(α, α) + n_j / (n_i + n_j)), minus 1 where it exceeds 1;   targets likewise

n_i is how many labeled images the class of row i has in the data, however batches are drawn.
Partners are drawn with replacement and every row has a λ of its own. The authors' code takes
τ = −0.5 for CIFAR-10-LT and −0.1 for CIFAR-100-LT; its second half, the loss Bayias, is the
calibrator `bayias` of this catalog and combines with this one. With α ≤ 0 nothing is mixed. With a
semi-supervised algorithm the labeled rows are mixed and the unlabeled ones are left alone. As in
the paper.
"""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from mixcal.core.clock import Clock
from mixcal.core.facts import DataFacts
from mixcal.core.protocols import Calibrator
from mixcal.core.quantities import Range, Size
from mixcal.core.step import StepOutput
from mixcal.methods.mixing.coefficients import beta_draws
from mixcal.methods.mixing.pairs import PairMixer, Pairs, Weights, first_stage, reordered


def shifted(
    drawn: Float[Tensor, " n"],
    first_counts: Float[Tensor, " n"],
    second_counts: Float[Tensor, " n"],
) -> Float[Tensor, " n"]:
    """λ_i, in (0, 1]."""
    moved = drawn + second_counts / (first_counts + second_counts)
    return torch.where(moved > 1, moved - 1, moved)


def partner_chances(counts: Float[Tensor, " n"], tau: float) -> Float[Tensor, " n"]:
    """How likely each row of a batch is drawn as a partner; they sum to one."""
    return (tau * counts.log()).softmax(0)


def unimix(
    facts: DataFacts, *, alpha: Size = 0.8, tau: Annotated[float, Range(most=0)] = -0.5
) -> Calibrator:
    """Mixed rows in place of the labeled ones."""
    sizes = torch.tensor(facts.class_counts, dtype=torch.float32)

    def counts_of(targets: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        return sizes.to(targets.device, non_blocking=True)[targets.argmax(1)]

    def partners(step: StepOutput, clock: Clock) -> Pairs:
        rows = step.batch.labeled
        edges = partner_chances(counts_of(rows.targets), tau).cumsum(0)
        fate = torch.rand(len(rows), generator=clock.generator)
        fate = fate.to(edges.device, non_blocking=True) * edges[-1]
        return reordered(rows, torch.searchsorted(edges, fate, right=True).clamp(max=len(rows) - 1))

    def weigh(pairs: Pairs, generator: torch.Generator) -> Weights:
        drawn = beta_draws(alpha, len(pairs.first), generator)
        drawn = drawn.to(pairs.first.targets.device, non_blocking=True)
        first, second = counts_of(pairs.first.targets), counts_of(pairs.second.targets)
        weight = drawn if alpha <= 0 else shifted(drawn, first, second)
        return weight, weight

    return Calibrator(mixer=PairMixer(partners=partners, weigh=weigh, stage=first_stage(facts)))
