"""A table in memory-mapped files that goes back to a checkpoint without a copy of itself.

Before rows are overwritten their old bytes go to an undo file, one for each stretch between two
checkpoints. A run that is killed and resumed from a checkpoint puts the old bytes back, newest
first. An undo record that a kill cut short was not yet followed by its change and is passed over.
"""

import os
import re
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from mixcal.core.errors import BadInput
from mixcal.methods.dynamics.tables import Cells, Field

HEADER = struct.Struct("<QII")  # rows, bytes of the record, checksum
UNDO = re.compile(r"undo-(\d{10})")
NUMPY = {torch.float32: np.float32, torch.int16: np.int16, torch.int32: np.int32}


class MappedTable(nn.Module):
    """Files in a folder; nothing of it is in the state dict."""

    on_host = True

    def __init__(self, folder: Path, samples: int, fields: Mapping[str, Field]) -> None:
        super().__init__()
        self.folder = folder
        self.samples = samples
        self.fields = dict(fields)
        self._files: list[np.memmap] = []
        self._maps: dict[str, np.ndarray] = {}
        self._undo = -1

    def _open(self) -> dict[str, np.ndarray]:
        """The mapped arrays; the files are made at the first use."""
        if not self._maps:
            self.folder.mkdir(parents=True, exist_ok=True)
            for name, field in self.fields.items():
                path, shape = self.folder / f"{name}.bin", (self.samples, field.width)
                dtype = np.dtype(NUMPY[field.dtype])
                size = shape[0] * shape[1] * dtype.itemsize
                if not path.exists():
                    with open(path, "wb") as file:
                        file.truncate(size)
                elif path.stat().st_size != size:
                    raise BadInput(f"{path} has not the size of this run's table; delete it.")
                self._files.append(np.memmap(path, dtype, "r+", shape=shape))
                # Plain arrays over the same memory: a memmap's own indexing costs more.
                self._maps[name] = np.asarray(self._files[-1])
            if self._undo < 0:
                self._begin(0)
        return self._maps

    def _begin(self, step: int) -> None:
        """A new stretch: undo records from now on go to its file."""
        if self._undo >= 0:
            os.close(self._undo)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"undo-{step:010d}"
        self._undo = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def read(self, index: Int[Tensor, " n"]) -> dict[str, Tensor]:
        """The rows of these samples, on the index's device."""
        where = index.cpu().numpy()
        return {
            name: torch.from_numpy(cells[where]).to(index.device)
            for name, cells in self._open().items()
        }

    def write(self, index: Int[Tensor, " n"], cells: Cells) -> None:
        """Put rows back, after their old bytes are safe; equal indices must carry equal rows."""
        where = np.unique(index.cpu().numpy())
        maps = self._open()
        old = [where.astype("<i8", copy=False), *(maps[name][where] for name in maps)]
        parts = [memoryview(array).cast("B") for array in old]
        size, checksum = sum(map(len, parts)), 0
        for part in parts:
            checksum = zlib.crc32(part, checksum)
        written = os.writev(self._undo, [HEADER.pack(len(where), size, checksum), *parts])
        if written != HEADER.size + size:
            raise OSError(28, "No space left on device", str(self.folder))
        order = index.cpu().numpy()
        for name, array in maps.items():
            array[order] = cells[name].cpu().numpy()

    def whole(self, name: str) -> Tensor:
        """One field of all samples."""
        return torch.from_numpy(np.array(self._open()[name]))

    def mark(self, step: int, oldest: int) -> None:
        """A checkpoint of this step is safe; stretches before `oldest` are not needed any more."""
        self._open()
        for file in self._files:
            file.flush()
        self._begin(step)
        for began, path in self._stretches():
            if began < oldest:
                path.unlink()

    def rewind(self, step: int) -> None:
        """Take back everything that was written after the checkpoint of this step."""
        maps = self._open()
        for began, path in reversed(self._stretches()):
            if began >= step:
                for where, old in reversed(self._records(path)):
                    for name, rows in old.items():
                        maps[name][where] = rows
                path.unlink()
        self._begin(step)

    def _stretches(self) -> list[tuple[int, Path]]:
        found = ((UNDO.fullmatch(path.name), path) for path in sorted(self.folder.iterdir()))
        return [(int(match[1]), path) for match, path in found if match]

    def _records(self, path: Path) -> list[tuple[np.ndarray, dict[str, np.ndarray]]]:
        """The whole records of one undo file, oldest first."""
        content, place, found = path.read_bytes(), 0, []
        while place + HEADER.size <= len(content):
            rows, size, checksum = HEADER.unpack_from(content, place)
            body = content[place + HEADER.size : place + HEADER.size + size]
            if len(body) < size or zlib.crc32(body) != checksum:
                break
            found.append(self._unpacked(body, rows))
            place += HEADER.size + size
        return found

    def _unpacked(self, body: bytes, rows: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        where = np.frombuffer(body, "<i8", rows)
        place, old = where.nbytes, {}
        for name, field in self.fields.items():
            dtype = np.dtype(NUMPY[field.dtype])
            count = rows * field.width
            array = np.frombuffer(body, dtype, count, place)
            old[name] = array.reshape(rows, field.width)
            place += array.nbytes
        return where, old
