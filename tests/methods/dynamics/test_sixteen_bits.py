"""16-bit codes against the numbers they stand for."""

import pytest
import torch

from mixcal.methods.dynamics.sixteen_bits import decoded, encoded


def coded(values: torch.Tensor, visits: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    n = len(values)
    return encoded(values, torch.zeros(n, 2), torch.arange(n), torch.full((n,), visits))


def test_values_come_back_within_a_step() -> None:
    values = torch.randn(50, 12) * 7
    codes, bounds = coded(values)
    assert codes.dtype == torch.int16
    assert bool(((decoded(codes, bounds) - values).abs() <= bounds[:, 1:] * 1.01).all())


def test_bounds_stay_while_they_reach() -> None:
    values = torch.randn(5, 8)
    codes, bounds = coded(values)
    middle = values.mean(1, keepdim=True)
    inside = middle + (decoded(codes, bounds) - middle) * 0.9
    again, kept = encoded(inside, bounds, torch.arange(5), torch.ones(5, dtype=torch.int64))
    assert torch.equal(kept, bounds)
    _, grown = encoded(values * 3, bounds, torch.arange(5), torch.ones(5, dtype=torch.int64))
    assert bool((grown[:, 1] > bounds[:, 1]).all())
    assert again.shape == codes.shape


def test_rounding_is_right_on_average() -> None:
    # A value a third of a step above a code is rounded up at a third of the visits.
    bounds = torch.tensor([[0.0, 1.0]])
    up = 0
    for visit in range(3_000):
        codes, _ = encoded(
            torch.tensor([[100 + 1 / 3]]), bounds, torch.tensor([5]), torch.tensor([visit])
        )
        up += int(decoded(codes, bounds).item() > 100)
    assert up / 3_000 == pytest.approx(1 / 3, abs=0.002)


def test_equal_values_have_a_code() -> None:
    codes, bounds = coded(torch.full((2, 3), 4.0))
    assert decoded(codes, bounds).flatten().tolist() == pytest.approx([4.0] * 6, abs=1e-6)
