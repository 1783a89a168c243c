"""AugMix's chains against a loop over images, chains and operations, each alone."""

import numpy as np
import pytest
import torch

from mixcal.data.views.augmix import OPERATIONS, Chains, strength_of
from mixcal.data.views.randaugment import GEOMETRIC, NAMES, apply_operations


@pytest.mark.parametrize("depth", [0, 2])
def test_against_a_loop(depth: int) -> None:
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(256, (5, 3, 12, 12), generator=generator, dtype=torch.uint8)
    chains = Chains(width=3, depth=depth, severity=5.0)
    draws = torch.rand(15, chains.columns, generator=generator)
    found = chains(images, draws)
    for row in range(15):
        image = images[row // 3][None]
        steps = depth or 1 + int(draws[row, 0] * 3)
        for turn in range(steps):
            numbers = draws[row : row + 1, 1 + 3 * turn : 4 + 3 * turn]
            image = apply_operations(image, *chains.choose(numbers, 12))
        assert torch.equal(found[row], image[0])


def test_every_operation_is_drawn_alike_and_no_other() -> None:
    chosen, strength = Chains().choose(torch.rand(18_000, 3), 32)
    counts = np.bincount(chosen, minlength=len(NAMES))
    for place, name in enumerate(NAMES):
        expected = 2000 if name in OPERATIONS else 0
        assert counts[place] == pytest.approx(expected, abs=200)
    for name in GEOMETRIC:
        side = strength[torch.from_numpy(chosen == NAMES.index(name))]
        left, right = (side < 0).float().mean().item(), (side > 0).float().mean().item()
        assert left == pytest.approx(right, abs=0.1)


@pytest.mark.parametrize(
    ("name", "level", "expected"),
    [
        ("posterize", 2.4, 4),
        ("posterize", 2.6, 3),
        ("solarize", 1.0, 231),
        ("rotate", 2.9, 8),
        ("shear_x", 2.0, 0.06),
        ("translate_y", 2.0, 2 / 32),
        ("equalize", 2.0, 0),
    ],
)
def test_levels_by_hand(name: str, level: float, expected: float) -> None:
    assert strength_of(name, np.array([level]), 32).item() == pytest.approx(expected)


def test_lengths_are_one_to_three_alike() -> None:
    chains = Chains()
    draws = torch.rand(3_000, chains.columns)
    length = 1 + (draws[:, 0] * 3).long()
    assert length.bincount()[1:].tolist() == pytest.approx([1000] * 3, abs=150)
