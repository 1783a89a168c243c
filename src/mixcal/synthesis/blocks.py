"""Rows dealt to blocks, and blocks to processes."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int


@dataclass(frozen=True, slots=True)
class Blocks:
    """Rows 0 … rows − 1 in blocks of one size; the last one may be shorter."""

    rows: int
    size: int

    def __len__(self) -> int:
        return -(-self.rows // self.size)

    def range(self, number: int) -> range:
        """The rows of a block."""
        start = number * self.size
        return range(start, min(start + self.size, self.rows))

    def missing(
        self, done: Bool[np.ndarray, " s"], shard: tuple[int, int]
    ) -> Int[np.ndarray, " n"]:
        """The unfinished blocks of those dealt to a shard (number, of how many)."""
        number, shards = shard
        mine = range(number, len(self), shards)
        missing = [block for block in mine if not done[list(self.range(block))].all()]
        return np.array(missing, dtype=np.int64)
