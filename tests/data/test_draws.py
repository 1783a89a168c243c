"""Uniform numbers of shards against those of the whole batch."""

from itertools import pairwise

import torch

from mixcal.data.draws import SHARDS, shard_bounds, uniforms


def test_any_number_of_processes_draws_the_same() -> None:
    whole = uniforms(3, "strong", 17, rows=70, columns=5)
    for processes in (2, 4, 8):
        each = SHARDS // processes
        parts = [
            uniforms(3, "strong", 17, rows=70, columns=5, shards=range(p * each, (p + 1) * each))
            for p in range(processes)
        ]
        assert torch.equal(torch.cat(parts), whole)


def test_purposes_steps_and_seeds_differ() -> None:
    first = uniforms(0, "weak", 0, rows=16, columns=2)
    for other in (
        uniforms(1, "weak", 0, rows=16, columns=2),
        uniforms(0, "strong", 0, rows=16, columns=2),
        uniforms(0, "weak", 1, rows=16, columns=2),
    ):
        assert not torch.equal(first, other)


def test_shards_cover_a_batch_of_any_size() -> None:
    for rows in (1, 7, 8, 64, 65):
        bounds = [shard_bounds(rows, shard) for shard in range(SHARDS)]
        assert bounds[0][0] == 0
        assert bounds[-1][1] == rows
        assert all(a[1] == b[0] for a, b in pairwise(bounds))
