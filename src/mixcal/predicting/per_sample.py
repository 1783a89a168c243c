"""Random numbers that belong to a sample: the same in whatever batch and order it stands.

A sample's key is a hash of its raw numbers, the seed and what the numbers are for. Its stream is
SplitMix64's (Steele, Lea and Flood, OOPSLA 2014): number j is mix(start + j · γ), where start is
the mixed sum of key and turn. All of it is whole-number arithmetic modulo 2⁶⁴, the same on every
device.
"""

import hashlib

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from mixcal.core.seeds import derive


def _signed(value: int) -> int:
    """The same 64 bits as torch's int64 reads them."""
    return value - (1 << 64) if value >> 63 else value


GAMMA = _signed(0x9E3779B97F4A7C15)
FIRST = _signed(0xBF58476D1CE4E5B9)
SECOND = _signed(0x94D049BB133111EB)
# A float32 in [0, 1) holds so many bits evenly.
BITS = 24


def keys_of(raw: Shaped[Tensor, "n ..."], seed: int, purpose: str) -> Int[Tensor, " n"]:
    """One key a sample, from what it looks like; on the samples' device."""
    salt = derive(seed, purpose).to_bytes(8, "big")
    keys = [
        int.from_bytes(hashlib.blake2b(row.tobytes(), digest_size=8, key=salt).digest(), "big")
        for row in raw.cpu().contiguous().numpy()
    ]
    return torch.tensor([_signed(key) for key in keys], dtype=torch.int64).to(raw.device)


def uniforms(keys: Int[Tensor, " n"], turn: int, columns: int) -> Float[Tensor, "n d"]:
    """Numbers in [0, 1), one row a sample, other ones in every turn."""
    start = _mixed(keys + _signed((turn + 1) * GAMMA % (1 << 64)))
    place = torch.arange(1, columns + 1, device=keys.device)
    bits = _shifted(_mixed(start[:, None] + place * GAMMA), 64 - BITS)
    return bits.float() / (1 << BITS)


def _mixed(state: Int[Tensor, "..."]) -> Int[Tensor, "..."]:
    """SplitMix64's finalizer; int64 products wrap around."""
    state = (state ^ _shifted(state, 30)) * FIRST
    state = (state ^ _shifted(state, 27)) * SECOND
    return state ^ _shifted(state, 31)


def _shifted(state: Int[Tensor, "..."], places: int) -> Int[Tensor, "..."]:
    """To the right with zeros from the left, where torch would repeat the sign."""
    return (state >> places) & ((1 << (64 - places)) - 1)
