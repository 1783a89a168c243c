"""Flip and shift against padding with NumPy and slicing, image by image."""

import numpy as np
import pytest
import torch

from mixcal.data.views.shift import flip_and_shift
from tests.support.images import smooth_images

MODES = {"reflect": "reflect", "zeros": "constant", "edge": "edge"}


def by_the_book(
    image: np.ndarray, draws: np.ndarray, padding: int, border: str, flip: bool
) -> np.ndarray:
    wide = np.pad(image, ((0, 0), (padding,) * 2, (padding,) * 2), mode=MODES[border])
    top, left = (int(d * (2 * padding + 1)) for d in draws[1:])
    window = wide[:, top : top + image.shape[1], left : left + image.shape[2]]
    return window[:, :, ::-1] if flip and draws[0] < 0.5 else window


@pytest.mark.parametrize("border", MODES)
@pytest.mark.parametrize("channels", [1, 3])
def test_equals_padding_and_cutting(border: str, channels: int) -> None:
    images, draws = smooth_images(50, channels=channels), torch.rand(50, 3)
    ours = flip_and_shift(images, draws, padding=4, border=border, flip=True)
    for image, draw, result in zip(images.numpy(), draws.numpy(), ours.numpy(), strict=True):
        assert np.array_equal(result, by_the_book(image, draw, 4, border, True))


def test_without_flip_and_padding_nothing_happens() -> None:
    images = smooth_images(5)
    same = flip_and_shift(images, torch.rand(5, 3), padding=0, border="reflect", flip=False)
    assert torch.equal(same, images)


def test_all_windows_are_equally_likely() -> None:
    picture = torch.arange(64, dtype=torch.uint8).view(1, 1, 8, 8).expand(9_000, -1, -1, -1)
    moved = flip_and_shift(picture, torch.rand(9_000, 3), padding=1, border="edge", flip=False)
    corners = torch.bincount(moved[:, 0, 4, 4].long())
    found = corners[corners > 0]
    assert len(found) == 9
    assert found.min() > 850
