"""Random mixup for semi-supervised training, the comparison of CalibrateMix
(arXiv:2511.12964v1, Table 2).

Pairs are drawn uniformly, with replacement, from the joint pool of weakly seen labeled rows and
pseudo-labeled rows; Beta(0.4, 0.4), soft cross-entropy, as many pairs as there are labeled rows.
The paper says no more than "two samples from the combined pool"; the number of pairs, the draw
and the warm-up option are ours. With supervised training it is mixup beside the plain rows.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from mixcal.core.clock import Clock
from mixcal.core.errors import BadInput
from mixcal.core.facts import DataFacts
from mixcal.core.protocols import Calibrator, Joins
from mixcal.core.quantities import Amount, Positive, Share, Size
from mixcal.core.rows import Rows, join
from mixcal.core.step import Mixed, StepOutput
from mixcal.methods.mixing.coefficients import Draw, coefficients
from mixcal.methods.mixing.guided import wrong_share
from mixcal.methods.mixing.pairs import images_only


class RandomMixer(nn.Module):
    """Any row with any row."""

    def __init__(
        self,
        *,
        joins: Joins,
        alpha: float,
        gamma: float | None,
        draw: Draw,
        anchored: bool,
        soft_targets: bool,
        warmup_steps: int,
        weight: float,
    ) -> None:
        super().__init__()
        self.joins: Joins = joins
        self.alpha = alpha
        self.gamma = gamma
        self.draw: Draw = draw
        self.anchored = anchored
        self.soft_targets = soft_targets
        self.warmup_steps = warmup_steps
        self.weight = weight

    def forward(self, step: StepOutput, clock: Clock) -> Mixed | None:
        """The mixed rows of this step; None during warm-up."""
        if clock.step < self.warmup_steps:
            return None
        pool = self._pool(step)
        count, device = len(step.batch.labeled), pool.index.device
        members = torch.rand(2, count, generator=clock.generator) * len(pool)
        first, second = members.long().clamp(max=len(pool) - 1).to(device, non_blocking=True)
        gamma = coefficients(
            self.alpha,
            torch.zeros_like(first),
            1,
            draw=self.draw,
            fixed=self.gamma,
            generator=clock.generator,
        )
        if self.anchored:
            gamma = torch.maximum(gamma, 1 - gamma)
            swapped = (first >= count) & (second < count)
            first, second = (
                torch.where(swapped, second, first),
                torch.where(swapped, first, second),
            )
        one, other = pool.take(first), pool.take(second)
        shape = (-1,) + (1,) * (pool.inputs.ndim - 1)
        mixed = Rows(
            inputs=torch.lerp(other.inputs, one.inputs, gamma.view(shape)),
            targets=torch.lerp(other.targets, one.targets, gamma[:, None]),
            index=one.index,
            part="mixed",
        )
        return Mixed(
            rows=mixed,
            first=one,
            second=other,
            image_weight=gamma,
            target_weight=gamma,
            loss_weight=torch.full_like(gamma, self.weight),
            readings=self._readings(step, first, second),
        )

    def _pool(self, step: StepOutput) -> Rows:
        """All rows that have a label of some kind."""
        labeled, views = step.batch.labeled, step.batch.unlabeled
        if views is None or step.pseudo is None:
            return labeled
        targets = step.pseudo.probs if self.soft_targets else step.pseudo.targets
        weak = Rows(inputs=views.weak.inputs, targets=targets, index=views.weak.index, part="weak")
        return join(labeled, weak, part="pool")

    def _readings(self, step: StepOutput, first: Tensor, second: Tensor) -> dict[str, Tensor]:
        """How many mixes hold a wrong pseudo-label, where the truth is known."""
        views = step.batch.unlabeled
        if views is None or step.pseudo is None:
            return {}
        labeled = len(step.batch.labeled)
        return {
            "wrong_partners": wrong_share(
                step.pseudo.labels, views.hidden_labels, first, second, labeled=labeled
            )
        }


def random_mixup(
    facts: DataFacts,
    *,
    mixed_branch: Literal["own", "with_strong"] = "own",
    alpha: Positive = 0.4,
    gamma: Share | None = None,
    draw: Draw = "batch",
    warmup_steps: Amount | None = None,
    warmup_fraction: Share | None = None,
    anchor: Literal["none", "labeled"] = "none",
    pseudo_targets: Literal["hard", "soft"] = "hard",
    mix_weight: Size = 1.0,
) -> Calibrator:
    """Random pairs; `anchor = "labeled"` gives the labeled member (of two alike the first) at least
    half of the mix."""
    images_only(facts, "random-mixup")
    if warmup_steps is not None and warmup_fraction is not None:
        raise BadInput("Give random-mixup's warmup_steps or warmup_fraction, not both.")
    steps = 102_400 if warmup_steps is None else warmup_steps
    if warmup_fraction is not None:
        steps = round(warmup_fraction * facts.steps)
    mixer = RandomMixer(
        joins="with_strong" if mixed_branch == "with_strong" else "after",
        alpha=alpha,
        gamma=gamma,
        draw=draw,
        anchored=anchor == "labeled",
        soft_targets=pseudo_targets == "soft",
        warmup_steps=steps,
        weight=mix_weight,
    )
    return Calibrator(mixer=mixer)
