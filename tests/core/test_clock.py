"""Clocks against each other: same seed and step, same numbers; anything else, others."""

import torch

from mixcal.core.clock import Clock
from mixcal.core.seeds import derive


def at(step: int, seed: int = 0) -> Clock:
    return Clock.at(step, seed=seed, steps=100, epoch_steps=10)


def test_numbers_depend_on_seed_and_step_only() -> None:
    first = torch.rand(4, generator=at(7).generator)
    assert torch.equal(first, torch.rand(4, generator=at(7).generator))
    assert not torch.equal(first, torch.rand(4, generator=at(8).generator))
    assert not torch.equal(first, torch.rand(4, generator=at(7, seed=1).generator))


def test_epochs_and_fractions() -> None:
    assert [at(step).epoch for step in (0, 9, 10, 99)] == [0, 0, 1, 9]
    assert at(25).fraction == 0.25


def test_derived_seeds_are_fixed_forever() -> None:
    # Golden: a change here changes every run of every recipe.
    assert derive(0, "weights") == 4283426181684004966
    assert len({derive(s, p, n) for s in range(5) for p in "ab" for n in range(5)}) == 50
