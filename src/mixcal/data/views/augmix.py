"""The chains of AugMix for whole batches (Hendrycks et al., ICLR 2020; arXiv:1912.02781v2).

Each image goes through `width` chains of one to three operations; an operation is drawn from nine
(those that imitate the test corruptions of ImageNet-C are left out), its level from U(0.1,
severity), the direction of geometric ones by a coin. All chains of all images run as one batch,
operation by operation. As in the authors' code, but geometric operations take the nearest pixel
where Pillow would blend four.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from mixcal.data.views.randaugment import GEOMETRIC, NAMES, apply_operations

OPERATIONS = ("autocontrast", "equalize", "posterize", "solarize", *GEOMETRIC)
PLACES = np.array([NAMES.index(name) for name in OPERATIONS])
LONGEST = 3
LEVELS = 10.0
COLUMNS_PER_OPERATION = 3


@dataclass(frozen=True, slots=True)
class Chains:
    """How many chains an image goes through, how long they are (0: one to three), how severe."""

    width: int = 3
    depth: int = 0
    severity: float = 3.0

    @property
    def columns(self) -> int:
        """How many uniform numbers one chain of one image needs."""
        return 1 + COLUMNS_PER_OPERATION * (self.depth or LONGEST)

    def __call__(
        self, images: UInt8[Tensor, "n c h w"], draws: Float[Tensor, "m d"]
    ) -> UInt8[Tensor, "m c h w"]:
        """The images after each chain; the chains of one image follow one another."""
        result = images.repeat_interleave(self.width, dim=0)
        longest = self.depth or LONGEST
        length = (draws[:, 0].numpy() * longest).astype(np.int64) + 1
        length = np.full_like(length, self.depth) if self.depth else length
        for turn in range(longest):
            first = 1 + COLUMNS_PER_OPERATION * turn
            chosen, strength = self.choose(
                draws[:, first : first + COLUMNS_PER_OPERATION], int(images.shape[3])
            )
            chosen = np.where(turn < length, chosen, NAMES.index("identity"))
            result = apply_operations(result, chosen, strength)
        return result

    def choose(
        self, draws: Float[Tensor, "m 3"], size: int
    ) -> tuple[Int[np.ndarray, " m"], Float[Tensor, " m"]]:
        """Operation (a position in NAMES) and strength, from which, how much and which way."""
        which, amount, way = draws.numpy().T
        kind = np.minimum((which * len(OPERATIONS)).astype(np.int64), len(OPERATIONS) - 1)
        level = 0.1 + (self.severity - 0.1) * amount
        sign = np.where(way < 0.5, -1.0, 1.0)
        strengths = np.stack([strength_of(name, level, size) for name in OPERATIONS])
        strength = strengths[kind, np.arange(len(kind))]
        turned = kind >= len(OPERATIONS) - len(GEOMETRIC)
        strength = np.where(turned, strength * sign, strength)
        return PLACES[kind], torch.from_numpy(strength.astype(np.float32))


def strength_of(name: str, level: Float[np.ndarray, " m"], size: int) -> Float[np.ndarray, " m"]:
    """What a level of 0 to 10 means for an operation on pictures `size` pixels wide."""
    match name:
        case "posterize":
            return 4 - np.floor(level * 4 / LEVELS)
        case "solarize":
            return 256 - np.floor(level * 256 / LEVELS)
        case "rotate":
            return np.floor(level * 30 / LEVELS)
        case "shear_x" | "shear_y":
            return level * 0.3 / LEVELS
        case "translate_x" | "translate_y":
            # Whole pixels, up to a third of the picture; as a share of it.
            return np.floor(level * (size / 3) / LEVELS) / size
        case _:
            return np.zeros_like(level)
