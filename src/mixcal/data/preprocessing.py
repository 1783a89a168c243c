"""Preprocessing: from raw pixels to network inputs, the same in training and in service."""

from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from mixcal.data.pool import Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Preprocessing:
    """Size and normalization. `stored` is the size pictures are decoded to, `size` what is seen.

    Inputs are (raw / 255 − mean) / std per channel, in channels-last memory.
    """

    size: tuple[int, int]
    stored: tuple[int, int]
    mean: tuple[float, ...]
    std: tuple[float, ...]

    @property
    def channels(self) -> int:
        """1 for gray pictures, 3 for colour."""
        return len(self.mean)

    def normalized(self, raw: UInt8[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        """Network inputs from raw pixels of the seen size."""
        shape = (1, self.channels, 1, 1)
        scale = torch.tensor([1 / (255 * std) for std in self.std], dtype=torch.float32)
        shift = torch.tensor(
            [-m / s for m, s in zip(self.mean, self.std, strict=True)], dtype=torch.float32
        )
        scale, shift = (part.to(raw.device, non_blocking=True) for part in (scale, shift))
        wide = raw.contiguous(memory_format=torch.channels_last).float()
        return wide.mul_(scale.view(shape)).add_(shift.view(shape))

    def raw(self, inputs: Float[Tensor, "n c h w"]) -> UInt8[Tensor, "n c h w"]:
        """The raw pixels that unmixed inputs came from, exactly."""
        shape = (1, self.channels, 1, 1)
        std, mean = (inputs.new_tensor(v).view(shape) for v in (self.std, self.mean))
        return ((inputs * std + mean) * 255).round_().clamp_(0, 255).to(torch.uint8)

    def centered(self, raw: UInt8[Tensor, "n c h w"]) -> UInt8[Tensor, "n c a b"]:
        """The middle of a larger picture; a picture of the seen size as it is."""
        top = (raw.shape[2] - self.size[0]) // 2
        left = (raw.shape[3] - self.size[1]) // 2
        return raw[:, :, top : top + self.size[0], left : left + self.size[1]]

    def to_json(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Self:
        """What `to_json` wrote."""
        return cls(**{name: tuple(value) for name, value in record.items()})


def channel_statistics(pool: Pool, *, most: int = 10_000) -> tuple[list[float], list[float]]:
    """Mean and standard deviation of each channel of raw / 255, from at most `most` samples."""
    step = max(1, len(pool) // most)
    total, squares, count = np.zeros(1), np.zeros(1), 0
    for start in range(0, len(pool), 1024 * step):
        index = np.arange(start, min(start + 1024 * step, len(pool)), step)
        raw = pool.take(index).double() / 255
        count += raw.numel() // raw.shape[1]
        total = total + raw.sum((0, 2, 3)).numpy()
        squares = squares + raw.square().sum((0, 2, 3)).numpy()
    mean = total / count
    std = np.sqrt(np.maximum(squares / count - mean**2, 0))
    # A constant channel would divide by zero.
    return mean.tolist(), np.where(std > 1e-6, std, 1.0).tolist()
