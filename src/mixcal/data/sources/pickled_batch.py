"""The "python version" of CIFAR without running it: a pickle read as a list of instructions.

A pickle is a program. Its instructions are listed, never followed; the longest byte string in them
is the pixels, and the integers after the key of the labels are the labels.
"""

import pickletools

import numpy as np
from jaxtyping import Int, UInt8

STRINGS = frozenset(
    (
        *("STRING", "BINSTRING", "SHORT_BINSTRING"),
        *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
        *("SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    )
)
INTEGERS = frozenset(("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"))


def read_pickled_batch(
    contents: bytes, key: str
) -> tuple[UInt8[np.ndarray, " pixels"], Int[np.ndarray, " n"]]:
    """The pixels, in one row, and the integers listed under the key; ValueError if malformed."""
    pixels = b""
    numbers: list[int] = []
    listing = False
    for instruction, argument, _ in pickletools.genops(contents):
        if instruction.name in STRINGS:
            text = (
                argument if isinstance(argument, str) else bytes(argument or b"").decode("latin-1")
            )
            listing = text == key
            if len(text) > len(pixels):
                pixels = text.encode("latin-1", errors="replace")
        elif listing and instruction.name in INTEGERS:
            numbers.append(int(argument or 0))
    return np.frombuffer(pixels, np.uint8), np.array(numbers, dtype=np.int64)
