"""16-bit codes against the numbers they stand for."""

import pytest
import torch

from mixcal.methods.dynamics.sixteen_bits import decoded, encoded, largest_error


def coded(
    values: torch.Tensor, bounds: torch.Tensor | None = None, visit: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    n = len(values)
    bounds = torch.zeros(n, 3) if bounds is None else bounds
    visits = torch.full((n,), visit)
    return encoded(values, bounds, torch.arange(n), visits, 1 / (visits + 1))


def test_values_come_back_within_a_step() -> None:
    values = torch.randn(50, 12) * 7 + 20
    codes, bounds = coded(values)
    assert codes.dtype == torch.int16
    assert bool(((decoded(codes, bounds) - values).abs() <= bounds[:, 1:2] * 1.01).all())


def test_a_row_uses_all_the_codes() -> None:
    codes, _ = coded(torch.rand(50, 100))
    assert bool((codes.long().amax(1) - codes.long().amin(1) > 64_000).all())


def test_bounds_stay_while_they_reach() -> None:
    values = torch.randn(5, 8)
    codes, bounds = coded(values)
    middle = values.mean(1, keepdim=True)
    inside = middle + (decoded(codes, bounds) - middle) * 0.95
    again, kept = coded(inside, bounds, 1)
    assert torch.equal(kept[:, :2], bounds[:, :2])
    assert again.shape == codes.shape


@pytest.mark.parametrize("times", [3.0, 0.5])
def test_bounds_that_do_not_fit_are_fitted_anew(times: float) -> None:
    values = torch.randn(5, 8)
    _, bounds = coded(values)
    codes, fitted = coded(values * times, bounds, 1)
    assert (fitted[:, 1] / bounds[:, 1]).tolist() == pytest.approx([times] * 5, rel=1e-5)
    assert bool(((decoded(codes, fitted) - values * times).abs() <= fitted[:, 1:2] * 1.01).all())


def test_rounding_is_right_on_average() -> None:
    # A value a third of a step above a code is rounded up at a third of the visits.
    bounds = torch.tensor([[0.0, 1.0, 0.0]])
    up = 0
    for visit in range(3_000):
        codes, _ = coded(torch.tensor([[-30_000, 100 + 1 / 3, 30_000]]), bounds, visit)
        up += int(decoded(codes, bounds)[0, 1].item() > 100)
    assert up / 3_000 == pytest.approx(1 / 3, abs=0.002)


@pytest.mark.parametrize("value", [4.0, 0.0])
def test_equal_values_have_a_code(value: float) -> None:
    codes, bounds = coded(torch.full((2, 3), value))
    assert decoded(codes, bounds).flatten().tolist() == pytest.approx([value] * 6, abs=1e-6)


def test_what_is_no_number_has_no_small_error() -> None:
    _, bounds = coded(torch.tensor([[1.0, float("nan")], [1.0, float("inf")]]))
    assert not bool((bounds[:, 2] < 1e30).any())


def test_earlier_errors_fade_as_earlier_margins_do() -> None:
    # Steps of 6 · 1.02 / 65,532 at both visits, the second with half the weight:
    # step² / 12 · (1/4 + 1).
    values = torch.tensor([[-3.0, 3.0]])
    _, bounds = coded(values)
    _, bounds = coded(values, bounds, 1)
    assert bounds[0, 2].item() == pytest.approx((6.12 / 65_532) ** 2 / 12 * 1.25, rel=1e-4)


def test_the_largest_of_many_errors_by_hand() -> None:
    # √(2 ln 20,000) = 4.4505
    assert largest_error(torch.tensor([0.01, 0.04]), 1_000) == pytest.approx(0.2 * 4.4505, abs=1e-4)
