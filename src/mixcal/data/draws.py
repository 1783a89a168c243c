"""The uniform numbers that views are made of, independent of how many processes draw them."""

import torch
from jaxtyping import Float
from torch import Tensor

from mixcal.core.seeds import derive

# The rows of a global batch are dealt to this many virtual shards, whatever the number of
# processes; each shard has a generator of its own, so 1, 2, 4 or 8 processes draw the same.
SHARDS = 8


def shard_bounds(rows: int, shard: int) -> tuple[int, int]:
    """The rows of a global batch that belong to one virtual shard."""
    return rows * shard // SHARDS, rows * (shard + 1) // SHARDS


def uniforms(
    seed: int, purpose: str, step: int, *, rows: int, columns: int, shards: range = range(SHARDS)
) -> Float[Tensor, "n d"]:
    """Numbers in [0, 1), on the CPU, for the rows of the given shards of a global batch."""
    parts = []
    for shard in shards:
        start, stop = shard_bounds(rows, shard)
        generator = torch.Generator().manual_seed(derive(seed, purpose, step, shard))
        parts.append(torch.rand(stop - start, columns, generator=generator))
    return torch.cat(parts)
