"""Normalization against NumPy, and back to the same bytes."""

import numpy as np
import torch

from mixcal.data.pool import MemoryPool
from mixcal.data.preprocessing import Preprocessing, channel_statistics
from tests.support.images import smooth_images

MEAN, STD = (0.49, 0.48, 0.45), (0.25, 0.24, 0.26)


def preprocessing(size: int = 32, stored: int = 32) -> Preprocessing:
    return Preprocessing(size=(size, size), stored=(stored, stored), mean=MEAN, std=STD)


def test_normalized_is_the_formula_in_channels_last() -> None:
    raw = smooth_images(6)
    ours = preprocessing().normalized(raw)
    theirs = (raw.numpy() / 255 - np.array(MEAN)[:, None, None]) / np.array(STD)[:, None, None]
    assert np.abs(ours.numpy() - theirs).max() < 1e-5
    assert ours.is_contiguous(memory_format=torch.channels_last)


def test_raw_pixels_come_back_exactly() -> None:
    raw = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16).expand(1, 3, 16, 16).contiguous()
    assert torch.equal(preprocessing().raw(preprocessing().normalized(raw)), raw)


def test_the_middle_of_a_larger_picture() -> None:
    raw = smooth_images(2, size=36)
    assert torch.equal(preprocessing(32, 36).centered(raw), raw[:, :, 2:34, 2:34])


def test_statistics_equal_numpy() -> None:
    raw = smooth_images(300)
    pool = MemoryPool(raw, np.zeros(300, np.int64), np.arange(300))
    mean, std = channel_statistics(pool)
    assert np.allclose(mean, raw.numpy().mean((0, 2, 3)) / 255)
    assert np.allclose(std, raw.numpy().std((0, 2, 3)) / 255)


def test_json_round_trip() -> None:
    assert Preprocessing.from_json(preprocessing().to_json()) == preprocessing()
