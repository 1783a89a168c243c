"""A table in memory-mapped files that goes back to a checkpoint without a copy of itself.

Before a row is overwritten for the first time after a checkpoint, its old bytes go to the undo
file of the stretch that begins there; so an undo file never outgrows the table. A run that is
killed and resumed from a checkpoint puts the old bytes back, the newest stretch first.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from mixcal.core.errors import BadInput
from mixcal.core.full_disk import telling_when_full
from mixcal.methods.dynamics import undo_file
from mixcal.methods.dynamics.tables import Cells, Field

UNDO = re.compile(r"undo-(\d{10})")
NUMPY = {torch.float32: np.float32, torch.int16: np.int16, torch.int32: np.int32}
ZEROS = bytes(2**20)


class MappedTable(nn.Module):
    """Files in a folder; nothing of it is in the state dict."""

    on_host = True

    def __init__(self, folder: Path, samples: int, fields: Mapping[str, Field]) -> None:
        super().__init__()
        self.folder = folder
        self.samples = samples
        self.fields = dict(fields)
        self._types = {name: np.dtype(NUMPY[field.dtype]) for name, field in fields.items()}
        sizes = (field.width * self._types[name].itemsize for name, field in fields.items())
        # In an undo file: which sample it is, and the old bytes of its fields.
        self._row_bytes = 8 + sum(sizes)
        self._files: list[np.memmap] = []
        self._maps: dict[str, np.ndarray] = {}
        self._undo = -1
        self._recorded = np.zeros(samples, dtype=bool)

    def _opened(self) -> dict[str, np.ndarray]:
        """The mapped arrays; at the first use they are made."""
        if not self._maps:
            if self.folder.is_dir() and any(self.folder.iterdir()):
                raise BadInput(
                    f"{self.folder} holds a table already: go back to one of its checkpoints with "
                    "`rewind`, give this one another name, or delete the folder."
                )
            self._create()
        return self._maps

    def _create(self) -> None:
        """A table of zeros, whatever was there before."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self.folder.iterdir():
            path.unlink()
        for name in self.fields:
            _allocate(self._path(name), self._bytes(name))
        self._map()
        self._begin(0)

    def _map(self) -> None:
        """Plain arrays over the mapped memory: a memmap's own indexing costs more."""
        self._files = [
            np.memmap(self._path(name), self._types[name], "r+", shape=(self.samples, field.width))
            for name, field in self.fields.items()
        ]
        self._maps = dict(zip(self.fields, map(np.asarray, self._files), strict=True))

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.bin"

    def _bytes(self, name: str) -> int:
        return self.samples * self.fields[name].width * self._types[name].itemsize

    def _begin(self, step: int) -> None:
        """A new stretch: undo records from now on go to its file."""
        path, part = self._undo_path(step), self.folder / ".undo.part"
        before = self._undo
        with telling_when_full(path):
            self._undo = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
            undo_file.append(self._undo, undo_file.OPEN, step)
            os.replace(part, path)
            if before >= 0:
                undo_file.append(before, undo_file.NEXT, step)
                os.close(before)
        self._recorded[:] = False

    def read(self, index: Int[Tensor, " n"]) -> dict[str, Tensor]:
        """The rows of these samples, on the index's device."""
        where = self._positions(index)
        return {
            name: torch.from_numpy(cells[where]).to(index.device)
            for name, cells in self._opened().items()
        }

    def write(self, index: Int[Tensor, " n"], cells: Cells) -> None:
        """Put rows back, after their old bytes are safe; equal indices must carry equal rows."""
        order, maps = self._positions(index), self._opened()
        self._record(np.unique(order[~self._recorded[order]]))
        for name, array in maps.items():
            array[order] = cells[name].cpu().numpy()

    def _positions(self, index: Int[Tensor, " n"]) -> np.ndarray:
        where = index.cpu().numpy()
        if len(where) and not 0 <= where.min() <= where.max() < self.samples:
            raise IndexError(f"index out of range: {where.min()} to {where.max()}")
        return where

    def _record(self, where: np.ndarray) -> None:
        """Keep the rows' old bytes, of each row once in a stretch."""
        if not len(where):
            return
        old = [where.astype("<i8", copy=False), *(array[where] for array in self._maps.values())]
        with telling_when_full(self.folder):
            undo_file.append(self._undo, undo_file.ROWS, len(where), old)
        self._recorded[where] = True

    def whole(self, name: str) -> Tensor:
        """One field of all samples; the file's own memory."""
        return torch.from_numpy(self._opened()[name])

    def mark(self, step: int) -> None:
        """A checkpoint of this step is about to be written."""
        self._opened()
        for file in self._files:
            file.flush()
        self._begin(step)

    def forget(self, oldest: int) -> None:
        """Nobody goes back to a checkpoint before this one any more."""
        for began, path in self._stretches().items():
            if began < oldest:
                path.unlink()

    def rewind(self, step: int) -> None:
        """Take back everything that was written after the checkpoint of this step."""
        if self._undo >= 0:
            os.close(self._undo)
            self._undo = -1
        if step == 0:
            self._create()
            return
        for name in self.fields:
            path = self._path(name)
            if not path.is_file() or path.stat().st_size != self._bytes(name):
                raise self._lost(step, path, "is missing or has another size")
        self._map()
        for where, old in self._old_rows(step):
            for name, rows in old.items():
                self._maps[name][where] = rows
        for file in self._files:
            file.flush()
        # From here on the stretch is empty; what is newer is left over.
        self._begin(step)
        for began, path in self._stretches().items():
            if began > step:
                path.unlink()

    def _old_rows(self, step: int) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
        """The records of all stretches from this step on, the newest stretch first."""
        chain = self._chain(step)
        for place, path in reversed(list(enumerate(chain))):
            began, last = int(path.name.removeprefix("undo-")), place == len(chain) - 1
            try:
                for count, body in undo_file.rows_of(path, began, self._row_bytes, last=last):
                    yield self._unpacked(count, body)
            except undo_file.Damaged:
                raise self._lost(step, path, "is damaged") from None

    def _unpacked(self, count: int, body: bytes) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        where = np.frombuffer(body, "<i8", count)
        place, old = where.nbytes, {}
        for name, field in self.fields.items():
            rows = np.frombuffer(body, self._types[name], count * field.width, place)
            old[name] = rows.reshape(count, field.width)
            place += rows.nbytes
        return where, old

    def _chain(self, step: int) -> list[Path]:
        """The undo files of the stretches from this step on, each naming the one after it."""
        found, chain, here = self._stretches(), [], step
        following: int | None = step
        while following is not None:
            here = following
            if here not in found:
                raise self._lost(step, self._undo_path(here), "is missing")
            chain.append(found[here])
            try:
                following = undo_file.following(found[here])
            except undo_file.Damaged:
                raise self._lost(step, found[here], "is damaged") from None
        # A kill within `mark` leaves an empty newer file, one within `rewind` an empty last one.
        newer = [path for began, path in found.items() if began > here]
        if newer and not undo_file.is_empty(chain[-1]) and not all(map(undo_file.is_empty, newer)):
            raise self._lost(step, chain[-1], "is cut short")
        return chain

    def _lost(self, step: int, path: Path, what: str) -> BadInput:
        return BadInput(
            f"{path} {what}, so the margins cannot go back to the checkpoint of step {step}; put "
            f"back {self.folder} as it was, or train the recipe anew into another folder."
        )

    def _undo_path(self, step: int) -> Path:
        return self.folder / f"undo-{step:010d}"

    def _stretches(self) -> dict[int, Path]:
        """The undo files by the step they begin at, oldest first."""
        if not self.folder.is_dir():
            return {}
        matches = ((UNDO.fullmatch(path.name), path) for path in sorted(self.folder.iterdir()))
        return {int(match[1]): path for match, path in matches if match}


def _allocate(path: Path, size: int) -> None:
    """A file of zeros that has all its blocks: a mapped one that meets a full disk when a row is
    written kills the process."""
    with telling_when_full(path), open(path, "wb") as file:
        try:
            if sys.platform == "linux":
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                for start in range(0, size, len(ZEROS)):
                    file.write(ZEROS[: size - start])
        except OSError:
            path.unlink()
            raise
