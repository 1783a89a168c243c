"""The command line as a person uses it: a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import mixcal as mixcal_package

ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# The package that the tests themselves import, wherever the process runs.
SAME_PACKAGE = {"PYTHONPATH": str(Path(mixcal_package.__file__).parent.parent)}


def mixcal(*words: str | Path, cwd: Path | None = None, **more) -> subprocess.CompletedProcess:
    """Run `mixcal` with these words; text in and out."""
    return subprocess.run(
        [sys.executable, "-m", "mixcal", *map(str, words)],
        cwd=cwd,
        env=os.environ | ONE_THREAD | SAME_PACKAGE,
        capture_output=True,
        text=True,
        timeout=300,
        **more,
    )


QUICK = (
    "--set",
    "method.steps=12",
    "--set",
    "method.epoch_steps=4",
    "--set",
    "running.log_every=3",
    "--set",
    "running.checkpoint_every=5",
    "--set",
    "running.evaluate_every=6",
)
