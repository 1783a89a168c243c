"""Each batched operation against Pillow on single images; presets against their published facts."""

import lzma
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from mixcal.data.views.randaugment import GEOMETRIC, NAMES, PRESETS, apply_operations
from tests.support.images import smooth_images
from tests.support.pillow_operations import pillow_operation, to_pillow, to_planes


def agreement(images: torch.Tensor, name: str, strength: torch.Tensor) -> tuple[float, int]:
    """The share of equal bytes, and the largest difference."""
    ours = apply_operations(images, np.full(len(images), NAMES.index(name)), strength).numpy()
    theirs = np.stack(
        [
            to_planes(pillow_operation(to_pillow(image), name, float(s)))
            for image, s in zip(images.numpy(), strength, strict=True)
        ]
    )
    apart = np.abs(ours.astype(int) - theirs.astype(int))
    return float((apart == 0).mean()), int(apart.max())


def strengths(preset: str, name: str, n: int) -> torch.Tensor:
    low, high = PRESETS[preset].ranges[name]
    return low + (high - low) * torch.rand(n)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_operations_equal_pillow(name: str, channels: int) -> None:
    images = smooth_images(64, channels=channels, seed=torch.randint(1000, ()).item())
    equal, worst = agreement(images, name, strengths("usb", name, 64))
    assert equal >= 0.999
    assert worst <= 1 or name in GEOMETRIC


@pytest.mark.parametrize("size", [8, 28, 33])
@pytest.mark.parametrize("name", NAMES)
def test_operations_equal_pillow_at_other_sizes(name: str, size: int) -> None:
    equal, _ = agreement(smooth_images(32, size=size), name, strengths("usb", name, 32))
    assert equal >= 0.999


@pytest.mark.real_data
@pytest.mark.parametrize("name", NAMES)
def test_operations_equal_pillow_on_real_images(name: str) -> None:
    path = Path(os.environ["MIXCAL_DATA"]) / "fashion-mnist" / "t10k-images-idx3-ubyte.xz"
    with lzma.open(path) as file:
        raw = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 28, 28)
    equal, worst = agreement(torch.from_numpy(raw[:300].copy()), name, strengths("usb", name, 300))
    assert equal >= 0.999
    assert worst <= 1 or name in GEOMETRIC


@pytest.mark.parametrize("level", [0.0, 0.5, 127.0, 255.0, 255.5, 256.0])
def test_solarize_at_the_ends(level: float) -> None:
    equal, _ = agreement(smooth_images(4), "solarize", torch.full((4,), level))
    assert equal == 1


def test_constant_and_extreme_images_survive_every_operation() -> None:
    images = torch.stack([torch.full((3, 32, 32), v, dtype=torch.uint8) for v in (0, 7, 255)])
    for name in NAMES:
        assert agreement(images, name, strengths("usb", name, 3))[0] == 1, name


def test_every_image_draws_its_own_operations() -> None:
    images = smooth_images(1).expand(64, -1, -1, -1).contiguous()
    for preset in PRESETS.values():
        results = preset(images, torch.rand(64, preset.columns))
        assert len({bytes(image.numpy().tobytes()) for image in results}) > 32


def test_usb_draws_every_operation_alike_and_uniform_strengths() -> None:
    chosen, strength = PRESETS["usb"].choose(torch.rand(28_000, 4))
    counts = np.bincount(chosen, minlength=14)
    assert counts.min() > 1_800
    assert counts.max() < 2_200
    rotations = strength.numpy()[chosen == NAMES.index("rotate")]
    assert rotations.min() < -29
    assert rotations.max() > 29


def test_fixmatch_applies_half_of_its_operations_at_nine_levels() -> None:
    chosen, strength = PRESETS["fixmatch"].choose(torch.rand(28_000, 4))
    assert 0.50 < (chosen == NAMES.index("identity")).mean() < 0.57
    shears = np.unique(strength.numpy()[chosen == NAMES.index("shear_x")].round(4))
    levels = sorted(sign * 0.03 * level for sign in (-1, 1) for level in range(1, 10))
    assert shears.tolist() == pytest.approx(levels, abs=1e-4)


def test_a_view_is_a_function_of_its_draws() -> None:
    images, preset = smooth_images(20), PRESETS["usb"]
    draws = torch.rand(20, preset.columns)
    whole = preset(images, draws)
    halves = torch.cat([preset(images[:7], draws[:7]), preset(images[7:], draws[7:])])
    assert torch.equal(whole, halves)
