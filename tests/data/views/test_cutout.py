"""Cutout against Pillow's rectangle, image by image."""

import numpy as np
import pytest
import torch

from mixcal.data.views.cutout import cutout
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
