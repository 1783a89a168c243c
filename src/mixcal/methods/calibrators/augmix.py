"""AugMix with its consistency loss (Hendrycks et al., ICLR 2020; arXiv:1912.02781v2).

    x_aug = (1 − m) x + m Σ_i w_i chain_i(x),   w ~ Dirichlet(α, …, α), m ~ Beta(α, α)
    L = CE(x, y) + λ JSD(p(x); p(x_aug1); p(x_aug2))

Every labeled row and two augmented copies of it share one pass and its batch norms; the labeled
loss is that of the plain rows, and the gradient flows through all three predictions. λ = 12 as in
the paper; the rows of CSM (arXiv:2504.13548v2) have λ = 1. With λ = 0 nothing is augmented. With a
semi-supervised algorithm the labeled rows are augmented and the unlabeled ones keep their views.
As in the paper, but geometric operations take the nearest pixel.
"""

from dataclasses import dataclass, replace
from typing import Annotated

import torch

from mixcal.core.clock import Clock
from mixcal.core.facts import DataFacts
from mixcal.core.outcome import Outcome
from mixcal.core.protocols import Calibrator, Joins
from mixcal.core.quantities import Amount, Count, Positive, Range, Size
from mixcal.core.step import Mixed, StepOutput
from mixcal.data.preprocessing import Preprocessing
from mixcal.data.views.augmix import Chains
from mixcal.methods.losses.jensen_shannon import jensen_shannon_divergence
from mixcal.methods.mixing.coefficients import beta_draws, dirichlet_draws
from mixcal.methods.mixing.pairs import along_rows, images_only, lerped

COPIES = 2
# The strengths that AugMix knows.
MOST_SEVERE = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AugMixer:
    """Two augmented copies of every labeled row."""

    preprocessing: Preprocessing
    chains: Chains
    alpha: float
    joins: Joins = "beside"

    def __call__(self, step: StepOutput, clock: Clock) -> Mixed | None:
        rows, width = step.batch.labeled, self.chains.width
        count = COPIES * len(rows)
        draws = torch.rand(count * width, self.chains.columns, generator=clock.generator)
        shares = dirichlet_draws(self.alpha, width, count, clock.generator)
        kept = 1 - beta_draws(self.alpha, count, clock.generator)
        order = torch.arange(len(rows)).repeat(COPIES).to(rows.index.device, non_blocking=True)
        plain = rows.take(order)
        raw = self.chains(self.preprocessing.raw(plain.inputs), draws)
        ends = self.preprocessing.normalized(raw)
        shares = shares.flatten().to(ends.device, non_blocking=True)
        blended = (ends * along_rows(shares, ends)).unflatten(0, (count, width)).sum(1)
        kept = kept.to(ends.device, non_blocking=True)
        mixed = replace(plain, inputs=lerped(plain.inputs, blended, kept), part="mixed")
        return Mixed(
            rows=mixed,
            first=plain,
            second=replace(plain, inputs=blended, part="second"),
            image_weight=kept,
            target_weight=torch.ones_like(kept),
            loss_weight=None,
        )


@dataclass(frozen=True, slots=True)
class Consistency:
    """λ times how far the three predictions of each row lie apart."""

    weight: float

    def __call__(self, step: StepOutput, clock: Clock) -> Outcome:
        clean = step.activations["labeled"].logits
        copies = step.activations["mixed"].logits.unflatten(0, (COPIES, len(clean)))
        apart = jensen_shannon_divergence(torch.cat([clean[None], copies])).mean()
        return Outcome({"jensen_shannon": self.weight * apart})


def augmix(
    facts: DataFacts,
    *,
    weight: Size = 12.0,
    severity: Annotated[float, Range(0, 10, above=True)] = 3.0,
    width: Count = 3,
    depth: Amount = 0,
    alpha: Positive = 1.0,
    joint_forward: bool = True,
) -> Calibrator:
    """Augmented copies beside the labeled rows, or in a pass of their own."""
    images_only(facts, "AugMix")
    if weight == 0:
        return Calibrator()
    # Only the way from network inputs to pixels and back is needed; it knows no size.
    preprocessing = Preprocessing(size=(0, 0), stored=(0, 0), mean=facts.mean, std=facts.std)
    mixer = AugMixer(
        preprocessing=preprocessing,
        chains=Chains(width=width, depth=depth, severity=severity),
        alpha=alpha,
        joins="beside" if joint_forward else "after",
    )
    return Calibrator(mixer=mixer, terms={"jensen_shannon": Consistency(weight)})
