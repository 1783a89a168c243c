"""RandAugment for whole batches, every image with operations and strengths of its own.

(Cubuk et al., CVPR workshops 2020; arXiv:1909.13719v2.) Two presets, after the two public families
of FixMatch codes, whose results differ:

- `usb`: three operations, each always applied, its strength uniform in its range;
- `fixmatch`: two operations, each applied to every second image, its strength one of nine levels,
  the direction of geometric ones by a coin.

Which image gets which operation is decided on the host from the drawn numbers, so that images of
one operation are worked on together and nothing waits for the device.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from mixcal.data.views import affine, color

Preset = Literal["usb", "fixmatch"]
ColorOperation = Callable[[Tensor, Tensor], Tensor]

COLUMNS_PER_OPERATION = 4

COLOR: dict[str, ColorOperation] = {
    "identity": color.identity,
    "autocontrast": color.autocontrast,
    "equalize": color.equalize,
    "brightness": color.brightness,
    "color": color.color,
    "contrast": color.contrast,
    "sharpness": color.sharpness,
    "posterize": color.posterize,
    "solarize": color.solarize,
}
GEOMETRIC = ("rotate", "shear_x", "shear_y", "translate_x", "translate_y")
NAMES = (*COLOR, *GEOMETRIC)


@dataclass(frozen=True, slots=True)
class RandAugment:
    """What a preset draws. Ranges are (lowest, highest) strength by operation name."""

    operations: int
    ranges: dict[str, tuple[float, float]]
    applied_share: float
    levels: int | None
    signed: bool

    @property
    def columns(self) -> int:
        """How many uniform numbers one image needs."""
        return COLUMNS_PER_OPERATION * self.operations

    def __call__(
        self, images: UInt8[Tensor, "n c h w"], draws: Float[Tensor, "n d"]
    ) -> UInt8[Tensor, "n c h w"]:
        for turn in range(self.operations):
            first = COLUMNS_PER_OPERATION * turn
            chosen, strength = self.choose(draws[:, first : first + COLUMNS_PER_OPERATION])
            images = apply_operations(images, chosen, strength)
        return images

    def choose(self, draws: Float[Tensor, "n 4"]) -> tuple[np.ndarray, Float[Tensor, " n"]]:
        """Operation and strength of each image from which, how much, whether and which way."""
        which, amount, gate, way = draws.numpy().T
        chosen = np.minimum((which * len(NAMES)).astype(np.int64), len(NAMES) - 1)
        if self.levels is not None:
            amount = (np.floor(amount * self.levels) + 1) / (self.levels + 1)
        bounds = np.array([self.ranges[name] for name in NAMES], dtype=np.float32)
        low, high = bounds[chosen].T
        strength = low + (high - low) * amount
        if self.signed:
            turned = np.isin(chosen, [NAMES.index(name) for name in GEOMETRIC]) & (way < 0.5)
            strength = np.where(turned, -strength, strength)
        chosen = np.where(gate < self.applied_share, chosen, NAMES.index("identity"))
        return chosen, torch.from_numpy(strength.astype(np.float32))


def _ranges(geometric: Sequence[tuple[float, float]]) -> dict[str, tuple[float, float]]:
    enhance = (0.05, 0.95)
    ranges = dict.fromkeys(COLOR, (0.0, 1.0))
    ranges |= dict.fromkeys(("brightness", "color", "contrast", "sharpness"), enhance)
    ranges |= {"posterize": (4.0, 8.0), "solarize": (0.0, 256.0)}
    return ranges | dict(zip(GEOMETRIC, geometric, strict=True))


PRESETS: dict[str, RandAugment] = {
    "usb": RandAugment(
        operations=3,
        ranges=_ranges([(-30.0, 30.0), *[(-0.3, 0.3)] * 4]),
        applied_share=1.0,
        levels=None,
        signed=False,
    ),
    # Levels run from 1 to 9 of 10; solarize falls from 256, enhancements are level · 0.9 + 0.05.
    "fixmatch": RandAugment(
        operations=2,
        ranges=_ranges([(0.0, 30.0), *[(0.0, 0.3)] * 4]) | {"solarize": (256.0, 0.0)},
        applied_share=0.5,
        levels=9,
        signed=True,
    ),
}


def apply_operations(
    images: UInt8[Tensor, "n c h w"], chosen: np.ndarray, strength: Float[Tensor, " n"]
) -> UInt8[Tensor, "n c h w"]:
    """Each image under its operation (a position in NAMES) at its strength."""
    result = images.clone()
    for operation, name in enumerate(COLOR):
        rows = np.flatnonzero(chosen == operation)
        if name == "identity" or not rows.size:
            continue
        where = torch.from_numpy(rows)
        amount = strength[where].to(images.device, non_blocking=True)
        where = where.to(images.device, non_blocking=True)
        result.index_copy_(0, where, COLOR[name](images.index_select(0, where), amount))
    rows = np.flatnonzero(chosen >= len(COLOR))
    if rows.size:
        height, width = images.shape[2:]
        where = torch.from_numpy(rows)
        matrix = geometric_maps(chosen[rows] - len(COLOR), strength[where], height, width)
        where = where.to(images.device, non_blocking=True)
        moved = affine.transform(images.index_select(0, where), matrix)
        result.index_copy_(0, where, moved)
    return result


def geometric_maps(
    chosen: np.ndarray, strength: Float[Tensor, " n"], height: int, width: int
) -> Float[Tensor, "n 6"]:
    """The affine map of each image; `chosen` counts within GEOMETRIC."""
    maps = torch.empty(len(chosen), 6, dtype=torch.float64)
    makers: tuple[Callable[[Tensor], Tensor], ...] = (
        lambda amount: affine.rotation(amount, height, width),
        lambda amount: affine.shear(amount, axis=0),
        lambda amount: affine.shear(amount, axis=1),
        lambda amount: affine.translation(amount, width, axis=0),
        lambda amount: affine.translation(amount, height, axis=1),
    )
    for operation, make in enumerate(makers):
        rows = torch.from_numpy(np.flatnonzero(chosen == operation))
        if len(rows):
            maps[rows] = make(strength[rows])
    return maps
