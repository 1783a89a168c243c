"""The mapped table where files are missing or damaged, or the disk is full: a sentence says so."""

import contextlib
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from mixcal.core.errors import BadInput
from mixcal.core.full_disk import DiskFull
from mixcal.methods.dynamics.mapped_table import MappedTable
from tests.methods.dynamics.test_mapped_table import (
    FIELDS,
    HEAD,
    change,
    reopened,
    same,
    state,
    table,
    three_stretches,
)


def damage(name: str, how: Callable[[Path], object]) -> Callable[[Path], None]:
    def done(folder: Path) -> None:
        how(folder / name)

    return done


def filled(path: Path) -> None:
    path.write_bytes(np.random.default_rng(0).bytes(path.stat().st_size))


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[2 * HEAD + 9] ^= 1
    path.write_bytes(bytes(content))


def cut(bytes_left: int) -> Callable[[Path], None]:
    return lambda path: os.truncate(path, max(0, path.stat().st_size - bytes_left))


DAMAGES = {
    "no cells": damage("cells.bin", Path.unlink),
    "no visits": damage("visits.bin", Path.unlink),
    "shorter cells": damage("cells.bin", cut(1)),
    "no first stretch": damage("undo-0000000020", Path.unlink),
    "no last stretch": damage("undo-0000000030", Path.unlink),
    "noise in the first": damage("undo-0000000020", filled),
    "noise in the last": damage("undo-0000000030", filled),
    "a bit in the first": damage("undo-0000000020", flipped),
    "a bit in the last": damage("undo-0000000030", flipped),
    "the first cut": damage("undo-0000000020", cut(1)),
    "the first's end cut": damage("undo-0000000020", cut(HEAD)),
    "an empty first": damage("undo-0000000020", cut(10**9)),
    "an empty last": damage("undo-0000000030", cut(10**9)),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_is_missing_or_damaged_is_said(tmp_path: Path, name: str) -> None:
    three_stretches(tmp_path)
    DAMAGES[name](tmp_path)
    with pytest.raises(BadInput, match=r"cannot go back to the checkpoint of step 20; put back"):
        reopened(tmp_path, 20)
    # And again: nothing was made in place of what was missing.
    with pytest.raises(BadInput, match="cannot go back"):
        reopened(tmp_path, 20)


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cells\.bin is missing"):
        reopened(tmp_path / "gone", 20)


@contextlib.contextmanager
def no_file_over(size: int):
    """As if the disk were full from here on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_a_full_disk_is_said_before_anything_is_remembered(tmp_path: Path) -> None:
    found = MappedTable(tmp_path / "run" / "ledgers" / "unlabeled", 5_000, FIELDS)
    (tmp_path / "run").mkdir(exist_ok=True, parents=True)
    (tmp_path / "run" / "recipe.toml").touch()
    with (
        no_file_over(4096),
        pytest.raises(DiskFull, match=r"No room to write .*cells\.bin .*--resume .*/run`"),
    ):
        found.rewind(0)


def test_the_files_have_all_their_blocks(tmp_path: Path) -> None:
    MappedTable(tmp_path, 5_000, FIELDS).rewind(0)
    held = (tmp_path / "cells.bin").stat()
    assert held.st_blocks * 512 >= held.st_size == 5_000 * 16


def test_a_disk_that_fills_up_is_said_and_nothing_is_lost(tmp_path: Path) -> None:
    found, generator = table(tmp_path), torch.Generator().manual_seed(0)
    change(found, generator)
    found.mark(1)
    before = state(found)
    with no_file_over(100), pytest.raises(DiskFull, match="No room"):
        change(found, generator)
    assert same(state(reopened(tmp_path, 1)), before)
