"""Seeds: every random number of a run follows from (seed, what it is for, where)."""

import hashlib


def derive(seed: int, *path: str | int) -> int:
    """A 63-bit seed for one purpose, the same on every machine and in every process."""
    text = "/".join(str(part) for part in (seed, *path))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
