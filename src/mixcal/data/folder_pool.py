"""Pools of picture files: decoded by worker threads, ahead of time, or all at once into memory.

What a position gives depends on the file alone, so neither the number of workers nor whether the
pictures are held in memory changes a number.
"""

import warnings
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Int, Shaped, UInt8
from torch import Tensor

from mixcal.core.errors import BadInput
from mixcal.data.archives import Store
from mixcal.data.decoding import Unreadable, decoded
from mixcal.data.pool import MemoryPool
from mixcal.data.reading import Reading

# Stands for a picture that turns out unreadable after positions have been given out.
BLANK = 128
BLOCK = 512
LEAST_KEPT = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderPool:
    """Picture files, decoded when they are wanted; the ones used last are kept.

    `ids` are the files' names in the store, `shape` is channels, height, width.
    """

    store: Store
    ids: Shaped[np.ndarray, " n"]
    labels: Int[np.ndarray, " n"]
    shape: tuple[int, int, int]
    workers: ThreadPoolExecutor
    most_kept: int = LEAST_KEPT
    strict: bool = False
    _kept: OrderedDict[int, Future] = field(default_factory=OrderedDict)
    _warned: set[int] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, index: Int[np.ndarray, " m"]) -> Shaped[Tensor, "m ..."]:
        """The pictures at these positions; an unreadable one is plain gray, with a warning."""
        raw, failures = self.decode(index)
        for position, why in failures.items():
            if self.strict:
                raise unreadable(str(self.ids[position]), why)
            if position not in self._warned:
                self._warned.add(position)
                warnings.warn(f"{self.ids[position]} cannot be read ({why}); shown as plain gray.")
        return raw

    def prefetch(self, index: Int[np.ndarray, " m"]) -> None:
        """Begin to decode these."""
        for position in index:
            self._asked(int(position))

    def decode(
        self, index: Int[np.ndarray, " m"]
    ) -> tuple[UInt8[Tensor, "m c h w"], dict[int, str]]:
        """The pictures at these positions, and why some of them are plain gray."""
        waiting = [self._asked(int(position)) for position in index]
        raw = torch.empty((len(waiting), *self.shape), dtype=torch.uint8)
        failures = {}
        for row, future in enumerate(waiting):
            found = future.result()
            if isinstance(found, str):
                failures[int(index[row])] = found
                raw[row] = BLANK
            else:
                raw[row] = found
        return raw, failures

    def _asked(self, position: int) -> Future:
        if position in self._kept:
            self._kept.move_to_end(position)
        else:
            name = str(self.ids[position])
            self._kept[position] = self.workers.submit(_picture, self.store, name, self.shape)
            if len(self._kept) > self.most_kept:
                self._kept.popitem(last=False)
        return self._kept[position]


def _picture(store: Store, name: str, shape: tuple[int, int, int]) -> UInt8[Tensor, "c h w"] | str:
    """The picture, or why there is none."""
    try:
        with store.open(name) as file:
            pixels = decoded(file, size=shape[1:], channels=shape[0])
    except Unreadable as error:
        return str(error)
    except OSError as error:
        return error.strerror or str(error)
    return torch.from_numpy(pixels).permute(2, 0, 1)


def in_memory(pool: FolderPool) -> tuple[MemoryPool, dict[int, str]]:
    """All pictures of a pool, decoded once; and which of them could not be."""
    raw = torch.empty((len(pool), *pool.shape), dtype=torch.uint8)
    failures: dict[int, str] = {}
    for start in range(0, len(pool), BLOCK):
        stop = min(start + BLOCK, len(pool))
        pool.prefetch(np.arange(stop, min(stop + BLOCK, len(pool))))
        raw[start:stop], failed = pool.decode(np.arange(start, stop))
        failures |= failed
    return MemoryPool(raw, pool.labels, pool.ids), failures


def undecodable(pool: FolderPool) -> dict[int, str]:
    """The pictures of a pool that cannot be decoded, and why."""
    failures: dict[int, str] = {}
    for start in range(0, len(pool), BLOCK):
        failures |= pool.decode(np.arange(start, min(start + BLOCK, len(pool))))[1]
    return failures


def fitting(count: int, shape: tuple[int, int, int], reading: Reading) -> bool:
    """Whether so many pictures may be held in memory."""
    return count * int(np.prod(shape)) <= reading.memory_megabytes << 20


def most_kept(shape: tuple[int, int, int], reading: Reading) -> int:
    """How many decoded pictures a pool that does not fit may keep."""
    return max(LEAST_KEPT, (reading.memory_megabytes << 20) // int(np.prod(shape)))


def unreadable(name: str, why: str) -> BadInput:
    """The error for a picture that cannot be read where every one has to be."""
    return BadInput(
        f"{name} cannot be read as a picture ({why}); mend or remove it, or leave out --strict."
    )
