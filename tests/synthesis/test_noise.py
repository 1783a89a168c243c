"""Noise levels and weights against numbers worked out from EDM's Table 1."""

import pytest
import torch

from mixcal.core.errors import BadInput
from mixcal.synthesis.noise import loss_weight, noise_levels, training_levels


def test_five_levels_by_hand() -> None:
    expected = [80, 17.527832, 2.515219, 0.169753, 0.002, 0]
    assert noise_levels(5).tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("steps", "second"), [(20, 59.657526), (25, 63.482804)])
def test_the_second_level(steps: int, second: float) -> None:
    levels = noise_levels(steps)
    assert levels.dtype == torch.float64
    assert levels[1].item() == pytest.approx(second, abs=1e-6)
    assert levels[-2].item() == pytest.approx(0.002)
    assert levels[-1].item() == 0
    assert bool((levels.diff() < 0).all())


def test_one_step_is_no_sampler() -> None:
    with pytest.raises(BadInput, match="at least 2 steps, not 1"):
        noise_levels(1)


def test_training_levels_are_log_normal() -> None:
    normals = torch.tensor([-1.0, 0.0, 2.0])
    expected = torch.tensor([-2.4, -1.2, 1.2]).exp()
    assert torch.allclose(training_levels(normals), expected)


def test_loss_weights_by_hand() -> None:
    weights = loss_weight(torch.tensor([0.5, 1.0, 80.0]))
    assert weights.tolist() == pytest.approx([8, 5, 4.000156], rel=1e-6)
