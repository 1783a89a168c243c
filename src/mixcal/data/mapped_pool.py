"""A pool of arrays that may lie on disk: rows are read when they are taken."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int, Shaped, UInt8
from torch import Tensor


@dataclass(frozen=True, slots=True)
class MappedPool:
    """Images (n, c, h, w) in one or several arrays, one after the other, or memory maps."""

    parts: tuple[UInt8[np.ndarray, "_ c h w"], ...]
    labels: Int[np.ndarray, " n"]
    ids: Shaped[np.ndarray, " n"]

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, index: Int[np.ndarray, " m"]) -> Shaped[Tensor, "m ..."]:
        """The images at these positions."""
        raw = np.empty((len(index), *self.parts[0].shape[1:]), np.uint8)
        first = 0
        for part in self.parts:
            here = (index >= first) & (index < first + len(part))
            raw[here] = part[index[here] - first]
            first += len(part)
        return torch.from_numpy(raw)

    def prefetch(self, index: Int[np.ndarray, " m"]) -> None:
        """Nothing: the system keeps what was read."""
