"""Auto-regularised confidence, ARC (Maronas, Ramos & Paredes, ICPR workshops 2020;
arXiv:2003.09946v4, equations 3 and 4).

    L = CE + β ARC
    V1 = 1/M Σ_b (mean of c over bin b − μ_b)²      V2 = 1/M Σ_b mean over bin b of (c − μ_b)²

c is the confidence, μ_b the accuracy within the bin, a constant. With mixup β ARC is added for each
of the two unmixed rows of every pair ("x1x2", three passes a step), or once for the mixed rows,
whose accuracy is mixed like their labels ("xtilde"); "validation" looks at the validation split
alone, as Table 5. With a semi-supervised algorithm it looks at the labeled rows: a pseudo-label is
what the network already believes. β, M and the version were tuned for each network and data set.

Too large a β ends in the prior classifier, which answers with the class frequencies, is perfectly
calibrated and useless; `guard` names it when the training accuracy stays at chance. As in the
paper; `bin_weight = "count"` weighs the bins as the code behind its tables with M > 1 does. The
code's further pass for monitoring is left out.
"""

from collections.abc import Sequence
from functools import partial
from typing import Literal

import torch
from torch import nn

from mixcal.core.clock import Clock
from mixcal.core.errors import BadInput
from mixcal.core.facts import DataFacts
from mixcal.core.outcome import Outcome
from mixcal.core.protocols import Calibrator
from mixcal.core.quantities import Count, Size
from mixcal.core.step import StepOutput
from mixcal.methods.calibrators.placement import Placement, needs_mixed_rows, sides, streams_of
from mixcal.methods.dynamics.chance import ChanceWatch
from mixcal.methods.losses.arc import BinWeight, Version
from mixcal.methods.losses.arc import arc as arc_penalty
from mixcal.methods.losses.truth import confidences, correctness

Guard = Literal["warn", "stop", "off"]


class ConfidenceGap(nn.Module):
    """β times ARC of the batches it looks at, and a watch over their accuracy."""

    def __init__(
        self,
        *,
        weight: float,
        variant: Version,
        bins: int | Sequence[int],
        bin_weight: BinWeight,
        placement: Placement,
        joint_forward: bool,
        watch: ChanceWatch,
    ) -> None:
        super().__init__()
        self.weight = weight
        self.penalty = partial(arc_penalty, variant=variant, bins=bins, bin_weight=bin_weight)
        self.placement = placement
        self.joint_forward = joint_forward
        self.watch = watch

    def forward(self, step: StepOutput, clock: Clock) -> Outcome:
        seen = sides(step, self.placement, joint_forward=self.joint_forward)
        total = torch.stack([self.penalty(side.logits, side.targets) for side in seen]).sum()
        right = torch.cat([correctness(side.logits, side.targets) for side in seen])
        sure = torch.cat([confidences(side.logits.detach()) for side in seen])
        self.watch.take(right, sure, clock)
        readings = {
            "arc_accuracy": right.mean(),
            "arc_epochs_at_chance": self.watch.stuck.float(),
        }
        return Outcome({"arc": self.weight * total}, readings)


def arc(
    facts: DataFacts,
    *,
    weight: Size = 1.0,
    variant: Version = "V1",
    bins: Count | Sequence[Count] = 1,
    bin_weight: BinWeight = "uniform",
    placement: Placement = "x1x2",
    joint_forward: bool = False,
    guard: Guard = "warn",
    guard_epochs: Count = 5,
) -> Calibrator:
    """The penalty as a term; `weight` is β."""
    if bins == () or bins == []:
        raise BadInput("arc: bins is empty; name at least one number of bins.")
    if weight == 0:
        return Calibrator()
    watch = ChanceWatch(
        facts,
        epochs=guard_epochs,
        remedy=f"ARC's weight {weight:g} is too large for this network, so lower it",
    )
    term = ConfidenceGap(
        weight=weight,
        variant=variant,
        bins=bins,
        bin_weight=bin_weight,
        placement=placement,
        joint_forward=joint_forward,
        watch=watch,
    )
    return Calibrator(
        terms={"arc": term},
        streams=streams_of(placement),
        checks=() if guard == "off" else (partial(watch.check, stop=guard == "stop"),),
        conditions=needs_mixed_rows(placement),
    )
