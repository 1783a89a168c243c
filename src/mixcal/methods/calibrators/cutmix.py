"""CutMix (Yun et al., ICCV 2019; arXiv:1905.04899v2).

    x̃ = x_i with a box of x_j,   box ⌊W r⌋ × ⌊H r⌋, r = √(1 − λ), λ ~ Beta(α, α)
    ỹ = λ′ y_i + (1 − λ′) y_j,   λ′ = 1 − (pixels of the box within the image) / (H W)

One box a batch, its centre anywhere, cut off at the border. λ′ counts the pixels that really
changed; an early release of the authors' code left that correction out. On CIFAR a step mixes with
probability ½, on ImageNet always (`probability = 1`). With a semi-supervised algorithm the labeled
rows are mixed and the unlabeled ones are left alone. As in the paper.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from mixcal.core.clock import Clock
from mixcal.core.facts import DataFacts
from mixcal.core.protocols import Calibrator, Joins
from mixcal.core.rows import Rows
from mixcal.core.step import Mixed, StepOutput
from mixcal.methods.calibrators.ranges import NOT_NEGATIVE, SHARE, within
from mixcal.methods.mixing.coefficients import beta_draws
from mixcal.methods.mixing.pairs import images_only, lerped, permuted


def box_of(
    keep: float, center: tuple[float, float], height: int, width: int
) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of the box that leaves about `keep` of the image.

    `center` is (x, y) in pixels; half a side is a whole number, so an odd side shrinks by one.
    """
    root = float(np.sqrt(1.0 - keep))
    across, down = int(width * root) // 2, int(height * root) // 2
    x, y = int(center[0]), int(center[1])
    left, right = max(x - across, 0), min(x + across, width)
    top, bottom = max(y - down, 0), min(y + down, height)
    return left, top, right, bottom


def kept_share(box: tuple[int, int, int, int], height: int, width: int) -> float:
    """λ′."""
    left, top, right, bottom = box
    return 1 - (right - left) * (bottom - top) / (height * width)


def inside(
    box: tuple[int, int, int, int], height: int, width: int, device: torch.device
) -> Bool[Tensor, "h w"]:
    """Which pixels lie in the box."""
    left, top, right, bottom = box
    x = torch.arange(width, device=device)
    y = torch.arange(height, device=device)[:, None]
    return (x >= left) & (x < right) & (y >= top) & (y < bottom)


@dataclass(frozen=True, slots=True, kw_only=True)
class CutMixer:
    """Pastes one box a batch."""

    alpha: float
    probability: float
    joins: Joins = "instead"

    def __call__(self, step: StepOutput, clock: Clock) -> Mixed | None:
        chance, x, y = map(float, torch.rand(3, generator=clock.generator).numpy())
        if chance >= self.probability:
            return None
        pairs = permuted(step, clock)
        first, second = pairs.first, pairs.second
        height, width = first.inputs.shape[-2:]
        keep = float(beta_draws(self.alpha, 1, clock.generator).numpy()[0])
        box = box_of(keep, (x * width, y * height), height, width)
        share = torch.full_like(first.targets[:, 0], kept_share(box, height, width))
        pasted = inside(box, height, width, first.inputs.device)
        rows = Rows(
            inputs=torch.where(pasted, second.inputs, first.inputs),
            targets=lerped(first.targets, second.targets, share),
            index=first.index,
            part="mixed",
        )
        return Mixed(
            rows=rows,
            first=first,
            second=second,
            image_weight=share,
            target_weight=share,
            loss_weight=torch.ones_like(share),
        )


def cutmix(facts: DataFacts, *, alpha: float = 1.0, probability: float = 0.5) -> Calibrator:
    """Pasted rows in place of the labeled ones; at other steps the labeled rows as they are."""
    within("cutmix", locals(), {"alpha": NOT_NEGATIVE, "probability": SHARE})
    images_only(facts, "CutMix")
    return Calibrator(mixer=CutMixer(alpha=alpha, probability=probability))
