"""Finished runs of a few steps, for tests of what comes after training."""

import warnings
from pathlib import Path

from mixcal.cli import main
from tests.support.command import QUICK
from tests.support.pictures import class_folders

LITTLE = (*QUICK, "--set", "method.batch=4", "--set", "method.unlabeled_ratio=2")


def ran(*words: str | Path) -> int:
    """A command, with the warnings shown as before it."""
    shown = warnings.showwarning
    try:
        return main([str(word) for word in words])
    finally:
        warnings.showwarning = shown


def trained_on_pictures(folder: Path, *more: str) -> Path:
    """A run on two classes of picture files under `folder/mine`, one size, 3 of each for test."""
    class_folders(folder / "mine" / "train", {"cat": 9, "dog": 9}, size=(24, 20))
    class_folders(folder / "mine" / "test", {"cat": 3, "dog": 3}, size=(24, 20))
    words = ("train", "--data", folder / "mine", "--into", folder / "run", *LITTLE, *more)
    assert ran(*words) == 0
    return folder / "run"
