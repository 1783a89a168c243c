"""Augmentation against what its nine numbers say was done, pixel by pixel, and its frequencies."""

import math

import pytest
import torch
from torch import nn

from mixcal.synthesis.augmentation import augmented
from mixcal.synthesis.denoiser import Denoiser
from mixcal.synthesis.options import GeneratorMethod
from mixcal.synthesis.training import denoising_losses


def drawn(images: torch.Tensor, probability: float) -> tuple[torch.Tensor, torch.Tensor]:
    return augmented(images, probability, torch.Generator().manual_seed(3))


def ramp(count: int, height: int = 16, width: int = 12) -> torch.Tensor:
    """Every pixel holds its own x and y, seen from the middle."""
    x = torch.arange(width) - (width - 1) / 2
    y = torch.arange(height) - (height - 1) / 2
    plane = torch.stack([x.expand(height, -1), y[:, None].expand(-1, width)])
    return plane.expand(count, -1, -1, -1)


def came_from(
    told: torch.Tensor, x: float, y: float, size: tuple[int, int], sign: int
) -> tuple[float, float]:
    """Where a place of the answer was in the image, by the nine numbers.

    They leave it open whether the image was made longer or shorter along the axis they name.
    """
    mirrored, upside_down, larger, cos, sin, along, across, right, below = told.tolist()
    x, y = x - right * size[1] / 8, y - below * size[0] / 8
    stretch, tilt = sign * math.hypot(along, across), math.atan2(across, along)
    x, y = (
        x * math.cos(tilt) - y * math.sin(tilt),
        x * math.sin(tilt) + y * math.cos(tilt),
    )
    x, y = x * 2 ** (-0.2 * stretch), y * 2 ** (0.2 * stretch)
    x, y = (
        x * math.cos(tilt) + y * math.sin(tilt),
        -x * math.sin(tilt) + y * math.cos(tilt),
    )
    x, y = (cos + 1) * x - sin * y, sin * x + (cos + 1) * y
    x, y = x * 2 ** (-0.2 * larger), y * 2 ** (-0.2 * larger)
    return (-x if mirrored else x), (-y if upside_down else y)


def test_every_pixel_comes_from_where_the_numbers_say() -> None:
    images = ramp(40)
    found, told = drawn(images, 1.0)
    seen = 0
    for row in range(40):
        wrong = {1: 0.0, -1: 0.0}
        for i in range(16):
            for j in range(12):
                for sign in wrong:
                    x, y = came_from(told[row], j - 5.5, i - 7.5, (16, 12), sign)
                    if abs(x) <= 5.5 and abs(y) <= 7.5:
                        seen += 1
                        here = found[row, :, i, j].tolist()
                        wrong[sign] = max(wrong[sign], abs(here[0] - x), abs(here[1] - y))
        assert min(wrong.values()) < 1e-4
    assert seen > 6_000


def test_without_chance_images_are_only_mirrored() -> None:
    images = torch.rand(400, 1, 4, 4)
    found, told = drawn(images, 0.0)
    mirrored = told[:, 0].bool()
    assert 160 < int(mirrored.sum()) < 240
    assert torch.equal(told[:, 1:], torch.zeros(400, 8))
    assert torch.equal(found[mirrored], images[mirrored].flip(3))
    assert torch.equal(found[~mirrored], images[~mirrored])


def test_how_often() -> None:
    _, told = drawn(torch.zeros(20_000, 1, 2, 2), 0.12)
    happened = (told != 0).float().mean(0)
    assert happened[0] == pytest.approx(0.5, abs=0.02)
    assert happened[1] == pytest.approx(0.06, abs=0.01)
    for number in (2, 4, 5, 7, 8):
        assert happened[number] == pytest.approx(0.12, abs=0.01)
    # Half of the stretches are along a tilted axis.
    assert happened[6] == pytest.approx(0.06, abs=0.01)
    assert told[told[:, 2] != 0, 2].std() == pytest.approx(1, abs=0.05)


class Listening(nn.Module):
    def forward(self, inputs: torch.Tensor, *told: torch.Tensor) -> torch.Tensor:
        self.told = told
        return torch.zeros_like(inputs)


def test_training_tells_the_network_and_asks_for_what_it_showed() -> None:
    network, images = Listening(), torch.rand(6, 1, 4, 4) * 2 - 1
    targets = torch.eye(2).repeat(3, 1)
    still, moving = (
        GeneratorMethod(seed=2, augmentation=amount, label_dropout=0.0) for amount in (0.0, 1.0)
    )
    plain = denoising_losses(Denoiser(network), images, targets, still, 5)
    assert len(network.told) == 2
    changed = denoising_losses(Denoiser(network), images, targets, moving, 5)
    assert network.told[2].shape == (6, 9)
    assert (network.told[2] != 0).any(0).all()
    assert not torch.allclose(plain, changed)
    again = denoising_losses(Denoiser(network), images, targets, moving, 5)
    assert torch.equal(changed, again)
