"""The sampler against a case with a known answer: Gaussian data of variance 1/4.

There D(x; σ) = x / (1 + 4 σ²), and the exact path is x(σ) = x(80) √((σ² + ¼) / (80² + ¼)).
"""

import itertools
import math

import pytest
import torch
from torch import Tensor

from mixcal.core.errors import BadInput
from mixcal.synthesis.noise import noise_levels
from mixcal.synthesis.sampler import Churn, sample

EXACT = 80 * math.sqrt(0.25 / (80**2 + 0.25))


def gaussian(images: Tensor, levels: Tensor, targets: Tensor) -> Tensor:
    return images * (0.25 / (0.25 + levels.view(-1, 1, 1, 1) ** 2))


def ended(steps: int, order: int = 2) -> float:
    start = torch.ones(1, 1, 1, 1, dtype=torch.float64)
    return sample(gaussian, start, torch.ones(1, 1), noise_levels(steps), order=order).item()


@pytest.mark.parametrize(
    ("steps", "heun", "euler"),
    [(18, 0.527625, 0.423031), (20, 0.521824, None), (25, 0.513354, 0.444159)],
)
def test_the_analytic_case(steps: int, heun: float, euler: float | None) -> None:
    assert ended(steps) == pytest.approx(heun, abs=1e-6)
    if euler is not None:
        assert ended(steps, order=1) == pytest.approx(euler, abs=1e-6)


def test_errors_fall_with_the_order_of_the_method() -> None:
    heun = [abs(ended(steps) - EXACT) for steps in (50, 100, 200)]
    euler = [abs(ended(steps, order=1) - EXACT) for steps in (50, 100, 200)]
    for coarse, fine in itertools.pairwise(heun):
        assert coarse / fine == pytest.approx(4, rel=0.1)
    for coarse, fine in itertools.pairwise(euler):
        assert coarse / fine == pytest.approx(2, rel=0.1)


def test_the_network_is_asked_twice_a_step_but_once_in_the_last() -> None:
    asked = []

    def counting(images: Tensor, levels: Tensor, targets: Tensor) -> Tensor:
        asked.append(levels[0].item())
        return gaussian(images, levels, targets)

    sample(counting, torch.ones(1, 1, 1, 1), torch.ones(1, 1), noise_levels(18))
    assert len(asked) == 35
    assert min(asked) == pytest.approx(0.002)


def test_the_state_is_float64_whatever_the_network_answers() -> None:
    def single(images: Tensor, levels: Tensor, targets: Tensor) -> Tensor:
        assert images.dtype == torch.float64
        return gaussian(images, levels, targets).float()

    found = sample(single, torch.randn(2, 1, 2, 2), torch.ones(2, 1), noise_levels(6))
    assert found.dtype == torch.float64


def test_churn_raises_the_noise_only_within_its_range() -> None:
    churn = Churn(amount=40, low=0.05, high=50, noise=1.003)
    assert churn.at(80.0, 256) == 0
    assert churn.at(1.0, 256) == pytest.approx(40 / 256)
    assert churn.at(0.01, 256) == 0
    assert churn.at(1.0, 18) == pytest.approx(math.sqrt(2) - 1)


def test_the_stochastic_sampler_keeps_the_distribution() -> None:
    generator = torch.Generator().manual_seed(0)
    shape = (20_000, 1, 1, 1)

    def draw() -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    churn = Churn(amount=40, low=0.05, high=50)
    levels = noise_levels(64)
    found = sample(gaussian, draw(), torch.ones(shape[0], 1), levels, churn=churn, draw=draw)
    assert found.std().item() == pytest.approx(0.5, abs=0.01)
    assert found.mean().item() == pytest.approx(0, abs=0.012)
    # It forgot where it began, as the deterministic one never does.
    start = draw()
    still = sample(gaussian, start, torch.ones(shape[0], 1), levels)
    moved = sample(gaussian, start, torch.ones(shape[0], 1), levels, churn=churn, draw=draw)
    pairs = torch.stack([start.flatten(), moved.flatten()])
    assert torch.corrcoef(pairs)[0, 1].item() < 0.1
    assert torch.corrcoef(torch.stack([start.flatten(), still.flatten()]))[0, 1] > 0.999


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"amount": math.nan}, "amount of churn is nan"),
        ({"amount": math.inf}, "amount of churn is inf"),
        ({"amount": -1.0}, r"amount of churn is -1\.0"),
        ({"noise": math.nan}, "noise of churn is nan"),
        ({"noise": -5.0}, r"noise of churn is -5\.0"),
        ({"low": 5.0, "high": 1.0}, r"from 5\.0 to 1\.0"),
        ({"low": math.nan}, r"from nan to inf"),
        ({"high": math.nan}, r"from 0\.0 to nan"),
        ({"low": -1.0}, r"from -1\.0 to inf"),
    ],
)
def test_churn_outside_its_ranges_is_one_sentence(wrong: dict, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        Churn(**wrong)
