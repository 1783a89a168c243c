"""Resized boxes against Pillow's bilinear resize; boxes against their ranges."""

import numpy as np
import pytest
import torch
from PIL import Image

from mixcal.data.views.resize import random_boxes, resize
from tests.support.images import smooth_images
from tests.support.pillow_operations import to_pillow, to_planes

DRAWS = 22


@pytest.mark.parametrize(("stored", "size"), [(64, 32), (48, 48), (32, 56)])
@pytest.mark.parametrize("channels", [1, 3])
def test_equals_pillow_within_one_level(stored: int, size: int, channels: int) -> None:
    images = smooth_images(30, channels=channels, size=stored)
    boxes = random_boxes(
        torch.rand(30, DRAWS), stored, stored, area=(0.08, 1.0), aspect=(0.75, 4 / 3)
    )
    ours = resize(images, boxes, (size, size)).numpy()
    theirs = np.stack(
        [
            to_planes(
                to_pillow(image)
                .crop(tuple(int(v) for v in box))
                .resize((size, size), Image.Resampling.BILINEAR)
            )
            for image, box in zip(images.numpy(), boxes.numpy(), strict=True)
        ]
    )
    apart = np.abs(ours.astype(int) - theirs.astype(int))
    assert apart.max() <= 1
    assert (apart == 0).mean() >= 0.999


def test_boxes_lie_inside_and_have_the_asked_area() -> None:
    boxes = random_boxes(torch.rand(2_000, DRAWS), 60, 80, area=(0.2, 0.6), aspect=(0.75, 4 / 3))
    left, top, right, bottom = boxes.T
    assert bool((left >= 0).all() and (top >= 0).all())
    assert bool((right <= 80).all() and (bottom <= 60).all())
    share = (right - left) * (bottom - top) / 4800
    assert 0.18 < share.min() < 0.22
    assert 0.55 < share.max() < 0.63
    ratio = (right - left) / (bottom - top)
    assert ratio.min() > 0.7
    assert ratio.max() < 1.42


def test_where_no_try_fits_the_largest_centred_box_is_taken() -> None:
    boxes = random_boxes(torch.full((1, DRAWS), 0.999), 10, 100, area=(0.9, 1.0), aspect=(1.0, 1.1))
    assert boxes.tolist() == [[44.0, 0.0, 55.0, 10.0]]
