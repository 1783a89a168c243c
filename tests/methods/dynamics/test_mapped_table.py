"""The mapped table: it goes back to any kept checkpoint, also after being killed within a write,
and says so where what it needs for that is gone.
"""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from mixcal.core.errors import BadInput
from mixcal.methods.dynamics import mapped_table
from mixcal.methods.dynamics.mapped_table import MappedTable
from mixcal.methods.dynamics.tables import Field

FIELDS = {"cells": Field(4, torch.float32), "visits": Field(1, torch.int32)}
ROWS = 20
ROW_BYTES = 8 + 4 * 4 + 4
HEAD = 20


def table(folder: Path) -> MappedTable:
    return MappedTable(folder, ROWS, FIELDS)


def reopened(folder: Path, step: int) -> MappedTable:
    found = table(folder)
    found.rewind(step)
    return found


def change(found: MappedTable, generator: torch.Generator) -> None:
    index = torch.randint(ROWS, (6,), generator=generator).unique()
    rows = found.read(index)
    found.write(
        index,
        {
            "cells": torch.randn(len(index), 4, generator=generator),
            "visits": rows["visits"] + 1,
        },
    )


def state(found: MappedTable) -> tuple[np.ndarray, ...]:
    return tuple(found.whole(name).numpy().copy() for name in FIELDS)


def same(one: tuple, other: tuple) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def three_stretches(folder: Path) -> dict[int, tuple[np.ndarray, ...]]:
    """Thirty changes, marks at 10, 20 and 30, the first forgotten, and changes after the last."""
    found, generator = table(folder), torch.Generator().manual_seed(0)
    states = {}
    for step in range(1, 35):
        change(found, generator)
        if step % 10 == 0:
            found.mark(step)
            states[step] = state(found)
    found.forget(20)
    assert not same(state(found), states[30])
    return states


@pytest.mark.parametrize("step", [20, 30])
def test_it_goes_back_to_every_kept_checkpoint(tmp_path: Path, step: int) -> None:
    states = three_stretches(tmp_path)
    again = reopened(tmp_path, step)
    assert same(state(again), states[step])
    for _ in range(3):
        change(again, torch.Generator().manual_seed(5))
    assert same(state(reopened(tmp_path, step)), states[step])


def test_it_goes_back_and_then_back_further(tmp_path: Path) -> None:
    states = three_stretches(tmp_path)
    again = reopened(tmp_path, 30)
    change(again, torch.Generator().manual_seed(5))
    assert same(state(reopened(tmp_path, 20)), states[20])


def test_what_is_not_needed_any_more_is_dropped(tmp_path: Path) -> None:
    three_stretches(tmp_path)
    kept = sorted(p.name for p in tmp_path.iterdir() if p.name.startswith("undo"))
    assert kept == ["undo-0000000020", "undo-0000000030"]


def test_from_the_beginning_it_is_all_zeros(tmp_path: Path) -> None:
    three_stretches(tmp_path)
    assert not any(array.any() for array in state(reopened(tmp_path, 0)))


def test_a_row_is_recorded_once_in_a_stretch(tmp_path: Path) -> None:
    found, generator = table(tmp_path), torch.Generator().manual_seed(0)
    for step in (0, 1):
        for _ in range(200):
            change(found, generator)
        size = (tmp_path / f"undo-{step:010d}").stat().st_size
        rows = ROWS * ROW_BYTES
        assert rows < size <= rows + HEAD * (ROWS + 1)
        found.mark(1)


@pytest.mark.parametrize("cut_bytes", [1, 7, 30, 10**9])
def test_a_record_cut_short_is_passed_over(tmp_path: Path, cut_bytes: int) -> None:
    found, generator = table(tmp_path), torch.Generator().manual_seed(0)
    change(found, generator)
    found.mark(1)
    before = state(found)
    undo = tmp_path / "undo-0000000001"
    empty = undo.read_bytes()
    change(found, generator)
    record = undo.read_bytes()[len(empty) :]
    # As if killed while the next record was being written: half of it, and no change after it.
    undo.write_bytes(empty + record + record[: max(0, len(record) - cut_bytes)])
    assert same(state(reopened(tmp_path, 1)), before)


def test_a_kill_within_a_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states = three_stretches(tmp_path)
    again = reopened(tmp_path, 30)
    change(again, torch.Generator().manual_seed(5))

    def killed(file: int, kind: bytes, number: int, body: tuple = ()) -> None:
        if kind == b"next":
            raise KeyboardInterrupt
        real(file, kind, number, body)

    real = mapped_table.undo_file.append
    monkeypatch.setattr(mapped_table.undo_file, "append", killed)
    with pytest.raises(KeyboardInterrupt):
        again.mark(40)
    monkeypatch.undo()
    assert same(state(reopened(tmp_path, 30)), states[30])
    assert same(state(reopened(tmp_path, 20)), states[20])


def test_a_kill_within_a_rewind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states = three_stretches(tmp_path)

    def killed(path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "unlink", killed)
    with pytest.raises(KeyboardInterrupt):
        reopened(tmp_path, 20)
    monkeypatch.undo()
    assert (tmp_path / "undo-0000000030").exists()
    assert same(state(reopened(tmp_path, 20)), states[20])
    assert not (tmp_path / "undo-0000000030").exists()


KILLED = """
import sys, torch
from pathlib import Path
from tests.methods.dynamics.test_mapped_table import change, reopened
found = reopened(Path(sys.argv[1]), 1)
generator = torch.Generator().manual_seed(1)
found.mark(5)
print("marked", flush=True)
while True:
    change(found, generator)
"""


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.2])
def test_killed_at_any_moment(tmp_path: Path, delay: float) -> None:
    found = table(tmp_path)
    change(found, torch.Generator().manual_seed(0))
    found.mark(1)
    before = state(found)
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        stdout=subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).parents[3],
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"marked\n"
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(delay)
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert same(state(reopened(tmp_path, 5)), before)


def test_a_second_table_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    table(tmp_path).read(torch.tensor([0]))
    with pytest.raises(BadInput, match="holds a table already"):
        table(tmp_path).read(torch.tensor([0]))


@pytest.mark.parametrize("index", [-1, ROWS])
def test_an_index_out_of_range_is_no_other_sample(tmp_path: Path, index: int) -> None:
    found = table(tmp_path)
    with pytest.raises(IndexError, match="out of range"):
        found.read(torch.tensor([0, index]))
    with pytest.raises(IndexError, match="out of range"):
        found.write(torch.tensor([index]), found.read(torch.tensor([0])))
