"""Pools: all samples of one part of a data set, addressed by position."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int, Shaped, UInt8
from torch import Tensor

UNLABELED = -1


@runtime_checkable
class Images(Protocol):
    """Raw inputs by position, and nothing else about them."""

    def take(self, index: Int[np.ndarray, " m"]) -> Shaped[Tensor, "m ..."]: ...

    def prefetch(self, index: Int[np.ndarray, " m"]) -> None: ...


@runtime_checkable
class Pool(Protocol):
    """Samples by position: raw inputs (uint8 images or token ids), labels (−1: none), ids."""

    @property
    def labels(self) -> Int[np.ndarray, " n"]: ...

    @property
    def ids(self) -> Shaped[np.ndarray, " n"]: ...

    def __len__(self) -> int: ...

    def take(self, index: Int[np.ndarray, " m"]) -> Shaped[Tensor, "m ..."]:
        """The raw inputs at these positions."""
        ...

    def prefetch(self, index: Int[np.ndarray, " m"]) -> None:
        """These positions will be taken soon; a pool that decodes may begin to."""
        ...


@dataclass(frozen=True, slots=True)
class MemoryPool:
    """A pool whose raw inputs lie in memory: uint8 images (n, c, h, w) or token ids (n, t)."""

    raw: Shaped[Tensor, "n ..."]
    labels: Int[np.ndarray, " n"]
    ids: Shaped[np.ndarray, " n"]

    @classmethod
    def of_images(
        cls,
        images: UInt8[np.ndarray, "n h w *c"],
        labels: Int[np.ndarray, " n"],
        ids: Shaped[np.ndarray, " n"] | None = None,
    ) -> "MemoryPool":
        """From arrays as images usually come: height, width, then channels if there are any."""
        if images.ndim == 3:
            images = images[..., None]
        # Copied unless channels come first already and torch may write to them.
        planes = torch.from_numpy(np.require(images.transpose(0, 3, 1, 2), requirements=("C", "W")))
        names = np.arange(len(images)) if ids is None else ids
        return cls(planes, np.asarray(labels, dtype=np.int64), names)

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, index: Int[np.ndarray, " m"]) -> Shaped[Tensor, "m ..."]:
        return self.raw[torch.from_numpy(np.asarray(index, dtype=np.int64))]

    def prefetch(self, index: Int[np.ndarray, " m"]) -> None:
        """Nothing: everything is there."""


def joined(first: MemoryPool, second: MemoryPool) -> MemoryPool:
    """Both pools as one; the second's samples follow the first's."""
    return MemoryPool(
        torch.cat([first.raw, second.raw]),
        np.concatenate([first.labels, second.labels]),
        np.concatenate([first.ids, second.ids]),
    )


def subset(pool: Pool, index: Int[np.ndarray, " m"]) -> MemoryPool:
    """Some of a pool's samples, in memory."""
    return MemoryPool(pool.take(index), pool.labels[index], pool.ids[index])
