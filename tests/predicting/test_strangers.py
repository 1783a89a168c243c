"""Noise against its distribution; foreign pictures against Pillow and normalizing by hand."""

import numpy as np
import pytest
import torch
from PIL import Image

from mixcal.data.pool import MemoryPool
from mixcal.data.preprocessing import Preprocessing
from mixcal.predicting.strangers import BLOCK, noise, pictures_of, recolored

COLOR = Preprocessing(size=(6, 6), stored=(8, 8), mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.25))
GRAY = Preprocessing(size=(8, 8), stored=(8, 8), mean=(0.5,), std=(0.25,))


def test_noise_is_standard_where_inputs_are_normalized() -> None:
    drawn = torch.cat(list(noise(COLOR, 600, seed=3)))
    assert drawn.shape == (600, 3, 6, 6)
    assert drawn.mean((0, 2, 3)).abs().max() < 0.03
    assert (drawn.std((0, 2, 3)) - 1).abs().max() < 0.03


def test_noise_is_the_same_whatever_the_count() -> None:
    few, many = (torch.cat(list(noise(GRAY, n, seed=3))) for n in (5, BLOCK + 7))
    assert torch.equal(few, many[:5])
    assert not torch.equal(many[:7], many[BLOCK:])
    assert not torch.equal(few, next(noise(GRAY, 5, seed=4)))


def test_clipped_noise_are_pixels() -> None:
    drawn = torch.cat(list(noise(COLOR, 50, seed=3, clip=True)))
    pixels = drawn * torch.tensor(COLOR.std).view(3, 1, 1) + torch.tensor(COLOR.mean).view(3, 1, 1)
    assert pixels.min().item() == pytest.approx(0, abs=1e-6)
    assert pixels.max().item() == pytest.approx(1, abs=1e-6)


def test_gray_is_what_pillow_makes_of_color() -> None:
    raw = np.random.default_rng(0).integers(0, 256, (4, 5, 5, 3), dtype=np.uint8)
    ours = recolored(torch.from_numpy(raw).permute(0, 3, 1, 2), 1)[:, 0].numpy()
    theirs = np.stack([np.asarray(Image.fromarray(picture).convert("L")) for picture in raw])
    assert np.abs(ours.astype(int) - theirs.astype(int)).max() <= 1


def test_foreign_pictures_come_in_the_networks_size_and_color() -> None:
    raw = np.random.default_rng(0).integers(0, 256, (3, 12, 10), dtype=np.uint8)
    pool = MemoryPool.of_images(raw, np.zeros(3, dtype=np.int64))
    (made,) = pictures_of(pool, np.array([2, 0]), COLOR)
    for row, place in enumerate((2, 0)):
        sized = Image.fromarray(raw[place]).resize((8, 8), Image.Resampling.BILINEAR)
        center = np.asarray(sized)[1:7, 1:7] / 255
        for channel in range(3):
            expected = (center - COLOR.mean[channel]) / COLOR.std[channel]
            assert made[row, channel].numpy() == pytest.approx(expected, abs=1e-5)
