"""RankMixup: mixed rows must be less sure than the rows they are made of (Noh et al., ICCV 2023;
arXiv:2308.11990v1).

    "mrl":   L = CE(raw) + w · mean max(0, c(mixed) − c(raw) + margin), pairs of two classes only
    "ndcg":  L = CE(raw) + w · mean (1 − NDCG) over the row and its three mixes, by label maxima

The mixes have no cross-entropy of their own: their labels give the order of confidences and no
more. Three independent λ and permutations for "ndcg", one for "mrl". The raw rows have one pass,
all mixes together a second one. λ ~ Beta(α, α) with α = 2 on CIFAR and 1 on Tiny-ImageNet (the
authors' code; CSM prints them the other way round). With a semi-supervised algorithm the labeled
rows are mixed and the unlabeled ones are left alone. As in the paper.
"""

from dataclasses import dataclass

import torch

from mixcal.core.clock import Clock
from mixcal.core.facts import DataFacts
from mixcal.core.outcome import Outcome
from mixcal.core.protocols import Calibrator, Joins
from mixcal.core.quantities import Count, Size
from mixcal.core.step import Mixed, StepOutput
from mixcal.methods.losses.rankmixup import Space, Variant
from mixcal.methods.losses.rankmixup import rankmixup as rank_loss
from mixcal.methods.mixing.coefficients import beta_draws
from mixcal.methods.mixing.pairs import Pairs, first_stage, mixed_pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class RankMixer:
    """Every labeled row with several partners; the mixes of one permutation follow one another."""

    mixes: int
    alpha: float
    stage: str
    joins: Joins = "after"

    def __call__(self, step: StepOutput, clock: Clock) -> Mixed | None:
        rows, generator = step.batch.labeled, clock.generator
        device, count = rows.index.device, len(rows)
        orders = [torch.randperm(count, generator=generator) + count * m for m in range(self.mixes)]
        order = torch.cat(orders).to(device, non_blocking=True)
        weight = beta_draws(self.alpha, self.mixes, generator).repeat_interleave(count)
        weight = weight.to(device, non_blocking=True)
        first = rows.take(torch.arange(count, device=device).repeat(self.mixes))
        pairs = Pairs(first=first, second=first.take(order, part="second"), order=order)
        return mixed_pairs(pairs, weight, weight, stage=self.stage, loss_weight=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTerm:
    """What the confidences of rows and their mixes are out of order."""

    variant: Variant
    weight: float
    margin: float
    space: Space

    def __call__(self, step: StepOutput, clock: Clock) -> Outcome:
        assert step.mixed is not None
        raw = step.activations["labeled"].logits
        shape = (-1, len(raw))
        disorder = rank_loss(
            raw,
            # A row of zeros is no target: the cross-entropy of raw rows is the labeled loss.
            torch.zeros_like(raw),
            mixed_logits=step.activations["mixed"].logits.unflatten(0, shape),
            mixed_targets=step.mixed.rows.targets.unflatten(0, shape),
            variant=self.variant,
            weight=self.weight,
            margin=self.margin,
            space=self.space,
        )
        return Outcome({"ranking": disorder.mean()})


def rankmixup(
    facts: DataFacts,
    *,
    variant: Variant = "ndcg",
    weight: Size = 0.1,
    alpha: Size = 2.0,
    margin: Size = 2.0,
    space: Space = "logit",
    mixes: Count | None = None,
    joint_forward: bool = False,
) -> Calibrator:
    """Ranked mixes in a pass of their own, or beside the labeled rows."""
    if weight == 0:
        return Calibrator()
    mixer = RankMixer(
        mixes=mixes if mixes is not None else (3 if variant == "ndcg" else 1),
        alpha=alpha,
        stage=first_stage(facts),
        joins="beside" if joint_forward else "after",
    )
    term = RankTerm(variant=variant, weight=weight, margin=margin, space=space)
    return Calibrator(mixer=mixer, terms={"ranking": term})
