"""Where recipes lie, and where runs go."""

from itertools import count
from pathlib import Path

import mixcal


def recipe_folder() -> Path:
    """The recipes that come along: beside the package, or in the repository it is run from."""
    package = Path(mixcal.__file__).parent
    installed = package / "recipes"
    return installed if installed.is_dir() else package.parent.parent / "recipes"


def next_run_folder(name: str, seed: int) -> Path:
    """The first free folder `runs/NAME-sSEED`, `runs/NAME-sSEED-2` …"""
    for number in count(1):
        suffix = "" if number == 1 else f"-{number}"
        path = Path("runs") / f"{name}-s{seed}{suffix}"
        if not path.exists():
            return path
    raise AssertionError("unreachable")
