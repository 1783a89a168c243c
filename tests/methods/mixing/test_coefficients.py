"""Mixing coefficients against the moments of the Beta distribution and their rules."""

import pytest
import torch

from mixcal.methods.mixing.coefficients import beta_draws, coefficients


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    ("alpha", "larger"), [(0.2, 0.8988), (0.4, 0.8398), (1, 0.7499), (2, 0.6876), (20, 0.5626)]
)
def test_moments(alpha: float, larger: float) -> None:
    draws = beta_draws(alpha, 200_000, generator()).double()
    assert draws.mean().item() == pytest.approx(0.5, abs=0.005)
    assert torch.maximum(draws, 1 - draws).mean().item() == pytest.approx(larger, abs=0.003)
    assert draws.var().item() == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=0.02)


def test_no_mixing_at_alpha_zero() -> None:
    assert beta_draws(0.0, 3, generator()).tolist() == [1, 1, 1]


GROUP = torch.tensor([0, 0, 1, 1, 1])


def test_drawn_once_a_batch_a_group_or_a_row() -> None:
    def distinct(draw: str) -> int:
        found = coefficients(0.4, GROUP, 4, draw=draw, fixed=None, generator=generator())
        return len(set(found.tolist()))

    assert [distinct(draw) for draw in ("batch", "group", "sample")] == [1, 2, 5]


def test_fixed_means_fixed() -> None:
    found = coefficients(0.4, GROUP, 4, draw="sample", fixed=0.4, generator=generator())
    assert found.tolist() == pytest.approx([0.4] * 5)


def test_the_generator_alone_decides() -> None:
    one, same, other = (beta_draws(0.4, 8, generator(seed)) for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
