"""Cutout against Pillow's rectangle, image by image."""

import numpy as np
import pytest
import torch

from mixcal.data.options import ViewOptions
from mixcal.data.preprocessing import Preprocessing
from mixcal.data.views.cutout import cutout
from mixcal.data.views.view import image_views
from tests.support.images import smooth_images
from tests.support.pillow_operations import pillow_cutout, to_pillow, to_planes


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("channels", [1, 3])
def test_equals_pillow(fixed: bool, channels: int) -> None:
    images, draws = smooth_images(100, channels=channels), torch.rand(100, 3)
    ours = cutout(images, draws, largest=0.5, fixed=fixed).numpy()
    for image, (share, x, y), result in zip(images.numpy(), draws.numpy(), ours, strict=True):
        side = 16.0 if fixed else share * np.float32(0.5) * 32
        theirs = pillow_cutout(to_pillow(image), side, x * 32, y * 32)
        assert np.array_equal(result, to_planes(theirs))


def test_size_zero_hides_nothing() -> None:
    images = smooth_images(3)
    assert torch.equal(cutout(images, torch.rand(3, 3), largest=0.0), images)


def test_the_benchmark_codes_center_lies_above_one() -> None:
    """NumPy's uniform(32) is U(1, 32]; its first number is the share left out of 32."""
    images, draws = smooth_images(60, channels=3), torch.rand(60, 3)
    ours = cutout(images, draws, largest=0.5, center="usb").numpy()
    for image, (share, x, y), result in zip(images.numpy(), draws.numpy(), ours, strict=True):
        side = share * np.float32(0.5) * 32
        x, y = np.float32(32) - x * np.float32(31), np.float32(32) - y * np.float32(31)
        theirs = pillow_cutout(to_pillow(image), side, x, y)
        assert np.array_equal(result, to_planes(theirs))
    # A draw of 0 is the far border, one near 1 the second pixel.
    corner = torch.tensor([[0.5, 0.0, 0.0], [0.5, 1 - 1e-7, 1 - 1e-7]])
    plain = torch.zeros(2, 3, 32, 32, dtype=torch.uint8)
    hidden = cutout(plain, corner, largest=0.125, center="usb")[:, 0] > 0
    assert hidden[0].nonzero().min(0).values.tolist() == [31, 31]
    assert hidden[1].nonzero().max(0).values.tolist() == [2, 2]


def test_a_recipe_says_which_center() -> None:
    look = Preprocessing(size=(8, 8), stored=(8, 8), mean=(0.0,), std=(1.0,))
    views = image_views(ViewOptions(cutout_center="usb"), look, flips=False)
    assert views.strong.cutout_center == "usb"
    assert image_views(ViewOptions(), look, flips=False).strong.cutout_center == "anywhere"
