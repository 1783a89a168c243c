"""Maximum mean calibration error, MMCE (Kumar, Sarawagi & Jain, ICML 2018, PMLR 80; no preprint).

    L = CE + λ MMCE,   k(a, b) = exp(− |a − b| / 0.4)

    "weighted"   √( Σ_ij u_i u_j k(c_i, c_j) ),     u = (1 − c) / n₁ if right, − c / n₀ if wrong
    "plain"      √( Σ_ij u_i u_j k(c_i, c_j) ),     u = (r − c) / N;   "m" is the same
    "m_sq"       Σ_ij u_i u_j k(c_i, c_j)           of "plain"

With mixup it looks at the two unmixed rows of every pair, in passes of their own ("x1x2"), or at
the mixed rows ("xtilde"), where it is λ' MMCE(z, y₁) + (1 − λ') MMCE(z, y₂) with the λ' of the
batch, its mean where each row has its own. With a semi-supervised algorithm it looks at the labeled
rows, since a pseudo-label is what the network already believes. As in the paper; "m_sq" is what
focal_calibration, RankMixup and CSM train with, λ = 1 as there, "port" divides twice as the
published code does, and mixing is as in Maronas et al. (arXiv:2003.09946v4).
"""

from dataclasses import dataclass

import torch

from mixcal.core.clock import Clock
from mixcal.core.facts import DataFacts
from mixcal.core.outcome import Outcome
from mixcal.core.protocols import Calibrator
from mixcal.core.quantities import Size
from mixcal.core.step import StepOutput
from mixcal.methods.calibrators.placement import (
    Placement,
    Side,
    needs_mixed_rows,
    sides,
    streams_of,
)
from mixcal.methods.losses.mmce import Variant
from mixcal.methods.losses.mmce import mmce as mmce_penalty


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelGap:
    """λ times MMCE of the batches it looks at."""

    weight: float
    variant: Variant
    placement: Placement
    joint_forward: bool

    def __call__(self, step: StepOutput, clock: Clock) -> Outcome:
        seen = sides(step, self.placement, joint_forward=self.joint_forward)
        total = torch.stack([self._of(side) for side in seen]).sum()
        return Outcome({"mmce": self.weight * total})

    def _of(self, side: Side) -> torch.Tensor:
        if side.mixed is None:
            return mmce_penalty(side.logits, side.targets, variant=self.variant)
        share = side.mixed.target_weight.mean()
        first, second = (
            mmce_penalty(side.logits, rows.targets, variant=self.variant)
            for rows in (side.mixed.first, side.mixed.second)
        )
        return torch.lerp(second, first, share)


def mmce(
    facts: DataFacts,
    *,
    weight: Size = 1.0,
    variant: Variant = "weighted",
    placement: Placement = "x1x2",
    joint_forward: bool = False,
) -> Calibrator:
    """The penalty as a term; `weight` is λ."""
    if weight == 0:
        return Calibrator()
    term = KernelGap(
        weight=weight, variant=variant, placement=placement, joint_forward=joint_forward
    )
    return Calibrator(
        terms={"mmce": term},
        streams=streams_of(placement),
        conditions=needs_mixed_rows(placement),
    )
