"""The run's log: one JSON object a line, the same for every run of the same recipe and seed."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mixcal.core.errors import BadInput
from mixcal.core.full_disk import telling_when_full


class Log:
    """Appends to `log.jsonl`; numbers only, no clock, so that a resumed run's log is identical."""

    def __init__(self, path: Path, *, keep: int = 0) -> None:
        """`keep`: bytes to keep of a log that is being continued; the rest was never certified."""
        there = path.stat().st_size if path.exists() else 0
        if there < keep:
            raise BadInput(
                f"{path} has {there:,} bytes, and had {keep:,} when the last checkpoint was "
                "written; restore the file, or train the run anew."
            )
        self._path = path
        self._file = open(path, "r+b" if path.exists() else "w+b")  # noqa: SIM115 closed by close()
        self._file.truncate(keep)
        self._file.seek(keep)

    def write(self, record: Mapping[str, Any]) -> None:
        """One line, on disk at once as far as the operating system goes."""
        with telling_when_full(self._path):
            self._file.write(json.dumps(rounded(record)).encode() + b"\n")
            self._file.flush()

    @property
    def size(self) -> int:
        """Bytes so far."""
        return self._file.tell()

    def sync(self) -> None:
        """Have the operating system put all lines on the disk."""
        with telling_when_full(self._path):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """No more lines."""
        with telling_when_full(self._path):
            self._file.close()


def rounded(value: Any) -> Any:
    """Floats to nine significant digits, NaN and infinities to null, at any depth."""
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(entry) for entry in value]
    return value


class Means:
    """Running means of named scalars, kept on the device until somebody asks."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[Tensor, Tensor]] = {}

    @torch.no_grad()
    def add(self, values: Mapping[str, Tensor]) -> None:
        """Take in one step's values; NaN means there was none."""
        for name, value in values.items():
            value = value.detach().float()
            known = torch.isfinite(value)
            total, count = self._sums.get(name, (torch.zeros_like(value), torch.zeros_like(value)))
            self._sums[name] = (total + torch.where(known, value, 0.0), count + known)

    def take(self) -> dict[str, float | None]:
        """The means so far, and start anew; None where no step had a value."""
        found = {}
        for name, (total, count) in self._sums.items():
            counted = float(count)
            found[name] = float(total) / counted if counted else None
        self._sums = {}
        return found

    def state(self) -> dict[str, tuple[float, float]]:
        """What a checkpoint keeps, so that a mean may span it; float32 survives JSON exactly."""
        return {name: (float(total), float(count)) for name, (total, count) in self._sums.items()}

    def restore(self, state: Mapping[str, Sequence[float]], device: torch.device) -> None:
        """What `state` gave."""
        self._sums = {
            name: (torch.tensor(total, device=device), torch.tensor(count, device=device))
            for name, (total, count) in state.items()
        }
