"""The mapped table: it goes back to any kept checkpoint, also after being killed within a write."""

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
from mixcal.methods.dynamics.mapped_table import MappedTable
from mixcal.methods.dynamics.tables import Field

FIELDS = {"cells": Field(4, torch.float32), "visits": Field(1, torch.int32)}
ROWS = 20


def table(folder: Path) -> MappedTable:
    return MappedTable(folder, ROWS, FIELDS)


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


def test_it_goes_back_to_every_kept_checkpoint(tmp_path: Path) -> None:
    found, generator = table(tmp_path), torch.Generator().manual_seed(0)
    states = {0: state(found)}
    for step in range(1, 31):
        change(found, generator)
        if step % 10 == 0:
            found.mark(step, oldest=max(0, step - 10))
            states[step] = state(found)
    for _ in range(4):
        change(found, generator)
    last = state(found)
    assert not same(last, states[30])
    again = table(tmp_path)
    again.rewind(30)
    assert same(state(again), states[30])
    for _ in range(3):
        change(again, generator)
    third = table(tmp_path)
    third.rewind(20)
    assert same(state(third), states[20])


def test_what_is_not_needed_any_more_is_dropped(tmp_path: Path) -> None:
    found, generator = table(tmp_path), torch.Generator().manual_seed(0)
    for step in (10, 20, 30):
        change(found, generator)
        found.mark(step, oldest=step - 10)
    kept = sorted(p.name for p in tmp_path.iterdir() if p.name.startswith("undo"))
    assert kept == ["undo-0000000020", "undo-0000000030"]


def test_from_the_beginning(tmp_path: Path) -> None:
    found = table(tmp_path)
    change(found, torch.Generator().manual_seed(0))
    again = table(tmp_path)
    again.rewind(0)
    assert not any(array.any() for array in state(again))


@pytest.mark.parametrize("cut", [1, 7, 30])
def test_a_record_cut_short_is_passed_over(tmp_path: Path, cut: int) -> None:
    found, generator = table(tmp_path), torch.Generator().manual_seed(0)
    change(found, generator)
    found.mark(1, oldest=0)
    before = state(found)
    change(found, generator)
    undo = tmp_path / "undo-0000000001"
    whole = undo.read_bytes()
    # As if killed while the next record was being written: half of it, and no change after it.
    undo.write_bytes(whole + whole[: len(whole) - cut])
    again = table(tmp_path)
    again.rewind(1)
    assert same(state(again), before)


KILLED = """
import sys, torch
from pathlib import Path
from tests.methods.dynamics.test_mapped_table import change, table
found = table(Path(sys.argv[1]))
generator = torch.Generator().manual_seed(1)
found.mark(5, 0)
print("marked", flush=True)
while True:
    change(found, generator)
"""


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.2])
def test_killed_at_any_moment(tmp_path: Path, delay: float) -> None:
    found = table(tmp_path)
    change(found, torch.Generator().manual_seed(0))
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
    again = table(tmp_path)
    again.rewind(5)
    assert same(state(again), before)


def test_files_of_another_size_are_refused(tmp_path: Path) -> None:
    table(tmp_path).read(torch.tensor([0]))
    with pytest.raises(BadInput, match="size"):
        MappedTable(tmp_path, ROWS + 1, FIELDS).read(torch.tensor([0]))
