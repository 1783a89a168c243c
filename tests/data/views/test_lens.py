"""The camera's other views: maps against their definition point by point, and pictures that must
stay as they are."""

import numpy as np
import pytest
import torch

from mixcal.data.views.lens import Lens, blended, magnified, perspective
from tests.support.images import smooth_images

STILL = Lens(flip=False, degrees=0.0, zoom=1.0, brightness=0.0, warp=0.0)


def at(maps: torch.Tensor, x: float, y: float) -> list[float]:
    found = maps[0] @ torch.tensor([x, y, 1.0], dtype=torch.float64)
    return (found[:2] / found[2]).tolist()


def test_corners_go_where_the_edges_lengths_say() -> None:
    left, right, top, bottom = 0.2, -0.1, 0.05, -0.2
    maps = perspective(torch.tensor([[left, right, top, bottom]]), 10, 20)
    # About the middle (10, 5), half as wide as 10 and half as high as 5.
    assert at(maps, 0, 0) == pytest.approx([10 - 10 * (1 + top), 5 - 5 * (1 + left)])
    assert at(maps, 20, 0) == pytest.approx([10 + 10 * (1 + top), 5 - 5 * (1 + right)])
    assert at(maps, 0, 10) == pytest.approx([10 - 10 * (1 + bottom), 5 + 5 * (1 + left)])
    assert at(maps, 20, 10) == pytest.approx([10 + 10 * (1 + bottom), 5 + 5 * (1 + right)])


def test_zoom_keeps_the_middle_and_shows_less() -> None:
    maps = magnified(torch.tensor([1.1], dtype=torch.float64), 8, 6)
    assert at(maps, 3, 4) == pytest.approx([3, 4])
    assert at(maps, 0, 0) == pytest.approx([3 - 3 / 1.1, 4 - 4 / 1.1])


def test_nothing_changes_without_changes() -> None:
    images = torch.randint(0, 256, (5, 3, 9, 7), dtype=torch.uint8)
    assert torch.equal(STILL(images, torch.rand(5, 8)), images)


def test_a_quarter_turn_is_a_quarter_turn() -> None:
    images = torch.randint(0, 256, (2, 1, 6, 6), dtype=torch.uint8)
    lens = Lens(flip=False, degrees=90.0, zoom=1.0, brightness=0.0, warp=0.0)
    draws = torch.full((2, 8), 0.5)
    draws[:, 1] = torch.tensor([1.0, 0.0])
    turned = lens(images, draws)
    assert torch.equal(turned[0], images[0].rot90(1, (1, 2)))
    assert torch.equal(turned[1], images[1].rot90(-1, (1, 2)))


def test_flip_and_brightness_by_hand() -> None:
    images = torch.tensor([[[[10, 200], [100, 250]]]], dtype=torch.uint8)
    draws = torch.full((1, 8), 0.5)
    draws[0, 3] = 1.0
    lighter = Lens(flip=False, degrees=0.0, zoom=1.0, warp=0.0)(images, draws)
    assert lighter.flatten().tolist() == [11, 220, 110, 255]
    draws[0, 0] = 0.4
    mirrored = Lens(flip=True, degrees=0.0, zoom=1.0, warp=0.0)(images, draws)
    assert mirrored.flatten().tolist() == [220, 11, 255, 110]


def test_blending_by_the_book() -> None:
    images = torch.randint(0, 256, (1, 1, 4, 5), dtype=torch.uint8)
    shift = torch.eye(3, dtype=torch.float64)[None].clone()
    shift[0, 0, 2], shift[0, 1, 2] = 0.25, -0.5
    found = blended(images, shift)[0, 0].numpy()
    pixels = images[0, 0].double().numpy()
    for y in range(4):
        for x in range(5):
            above, below = pixels[abs(y - 1) if y else 0], pixels[y]
            right = min(x + 1, 4)
            wanted = 0.75 * (above[x] + below[x]) / 2 + 0.25 * (above[right] + below[right]) / 2
            assert found[y, x] == pytest.approx(wanted, abs=1e-3)


def test_each_image_by_itself_and_close_to_what_it_was() -> None:
    images = smooth_images(6, channels=3, size=32, seed=0)
    lens, draws = Lens(flip=False), torch.rand(6, 8)
    whole = lens(images, draws)
    alone = torch.cat([lens(images[i : i + 1], draws[i : i + 1]) for i in range(6)])
    assert torch.equal(whole, alone)
    apart = np.abs(whole.numpy().astype(int) - images.numpy().astype(int)).mean((1, 2, 3))
    assert (apart > 0.5).all()
    # Still the same picture: nearer to itself than to another one.
    others = np.abs(whole.roll(1, 0).numpy().astype(int) - images.numpy().astype(int))
    assert (apart < others.mean((1, 2, 3))).all()
