"""Numbers that belong to samples: against SplitMix64 in plain Python, and how uniform they are."""

import numpy as np
import torch

from mixcal.predicting.per_sample import keys_of, uniforms

MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15


def mix(state: int) -> int:
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB & MASK
    return state ^ (state >> 31)


def test_splitmix64_gives_its_published_first_numbers() -> None:
    # The generator's reference output for the seed 1234567.
    assert [mix((1234567 + j * GAMMA) & MASK) for j in (1, 2, 3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_by_the_book() -> None:
    keys = torch.tensor([0, 5, -3, 2**62 + 11])
    for turn in (0, 7):
        found = uniforms(keys, turn, 5)
        for row, key in enumerate(keys.tolist()):
            start = mix((key + (turn + 1) * GAMMA) & MASK)
            wanted = [(mix((start + j * GAMMA) & MASK) >> 40) / 2**24 for j in range(1, 6)]
            assert found[row].tolist() == wanted


def test_uniform_and_unlike_in_every_turn_and_sample() -> None:
    raw = torch.arange(100, dtype=torch.uint8).view(100, 1)
    drawn = torch.cat([uniforms(keys_of(raw, 0, "a"), turn, 50) for turn in range(4)]).numpy()
    counts = np.histogram(drawn, bins=20, range=(0, 1))[0]
    # χ² with 19 degrees of freedom exceeds 43.8 once in a thousand.
    assert ((counts - 1000) ** 2 / 1000).sum() < 43.8
    rows = np.corrcoef(drawn)[np.triu_indices(400, 1)]
    assert abs(rows).max() < 6 / np.sqrt(50)
    assert abs(rows.mean()) < 0.001


def test_keys_follow_from_picture_seed_and_purpose_alone() -> None:
    raw = torch.randint(0, 256, (6, 3, 4, 4), dtype=torch.uint8)
    keys = keys_of(raw, 3, "a")
    order = torch.tensor([4, 1, 5, 0, 3, 2])
    assert torch.equal(keys_of(raw[order], 3, "a"), keys[order])
    assert torch.equal(keys_of(raw.contiguous(memory_format=torch.channels_last), 3, "a"), keys)
    for seed, purpose in ((4, "a"), (3, "b")):
        assert not (keys_of(raw, seed, purpose) == keys).any()
