"""Undo files: old rows of a table, one file for each stretch between two checkpoints.

    head:  kind, checksum of the rest of the head, number, checksum of the body
    OPEN   the stretch begins at step `number`
    ROWS   a body of `number` rows follows
    NEXT   the stretch ends: the next one begins at step `number`

A kill may cut short the last record of the last file, whose rows were not changed yet; damage of
any other kind is an error.
"""

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from mixcal.core.full_disk import NO_ROOM

OPEN, ROWS, NEXT = b"open", b"rows", b"next"
KIND, REST = struct.Struct("<4sI"), struct.Struct("<QI")
HEAD = KIND.size + REST.size


class Damaged(Exception):
    """An undo file is not as it was written."""


def append(file: int, kind: bytes, number: int, body: Sequence[np.ndarray] = ()) -> None:
    """One record, in one write."""
    parts = [array.reshape(-1).view(np.uint8).data for array in body]
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    rest = REST.pack(number, checksum)
    head = KIND.pack(kind, zlib.crc32(rest)) + rest
    if os.writev(file, [head, *parts]) != HEAD + sum(map(len, parts)):
        raise OSError(NO_ROOM[0], os.strerror(NO_ROOM[0]))


def following(path: Path) -> int | None:
    """The step at which the next stretch begins; None where this is the last one."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size < HEAD:
            raise Damaged
        file.seek(size - HEAD)
        try:
            kind, number, _ = _head(file.read(HEAD))
        except Damaged:
            # The end of a body, or of one cut short.
            return None
    return number if kind == NEXT else None


def rows_of(path: Path, began: int, row_bytes: int, *, last: bool) -> Iterator[tuple[int, bytes]]:
    """How many rows and the body of each record of a stretch, oldest first; `last`: the end may be
    cut short."""
    with open(path, "rb") as file:
        if _head(file.read(HEAD))[:2] != (OPEN, began):
            raise Damaged
        while head := file.read(HEAD):
            if len(head) < HEAD and last:
                return
            kind, number, checksum = _head(head)
            if kind == NEXT:
                return
            body = file.read(number * row_bytes)
            if len(body) < number * row_bytes and last:
                return
            if kind != ROWS or zlib.crc32(body) != checksum:
                raise Damaged
            yield number, body


def is_empty(path: Path) -> bool:
    """Whether no row was recorded in a stretch that goes on."""
    return path.stat().st_size == HEAD


def _head(found: bytes) -> tuple[bytes, int, int]:
    if len(found) < HEAD:
        raise Damaged
    kind, own = KIND.unpack_from(found)
    rest = found[KIND.size :]
    if zlib.crc32(rest) != own:
        raise Damaged
    number, checksum = REST.unpack(rest)
    return kind, number, checksum
