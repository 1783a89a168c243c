"""Killing runs: by the clock or within a save, and comparing what they leave with the whole run."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.support.command import ONE_THREAD, mixcal

STEPS = 60
SETTINGS = (
    "--set",
    f"method.steps={STEPS}",
    "--set",
    "method.epoch_steps=10",
    "--set",
    'method.data.validation="labels"',
    "--set",
    "running.log_every=4",
    "--set",
    "running.checkpoint_every=7",
    "--set",
    "running.evaluate_every=9",
)
# Gets a signal at the n-th of the calls that make a file durable: within a save.
DYING = """
import os, sys
from mixcal.cli import main
left, signal = int(sys.argv.pop(1)), int(sys.argv.pop(1))
def counted(call):
    def dying(*args, **kwargs):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal)
        return call(*args, **kwargs)
    return dying
os.fsync, os.replace = counted(os.fsync), counted(os.replace)
sys.exit(main())
"""


def same(ours: Path, theirs: Path) -> None:
    """Everything that the recipe decides is equal."""
    assert (ours / "log.jsonl").read_bytes() == (theirs / "log.jsonl").read_bytes()
    for name in ("test", "test-raw", "test-best", "validation"):
        pair = [root / "predictions" / f"{name}.npz" for root in (ours, theirs)]
        assert pair[0].read_bytes() == pair[1].read_bytes(), name
    for name in (f"step-{STEPS:010d}", "best"):
        pair = [root / "checkpoints" / f"{name}.safetensors" for root in (ours, theirs)]
        assert pair[0].read_bytes() == pair[1].read_bytes(), name
    assert (ours / "judgement.json").read_text() == (theirs / "judgement.json").read_text()


def words(folder: Path, settings: tuple[str, ...] = SETTINGS) -> list[str]:
    started = (folder / "run" / "recipe.toml").exists()
    return ["train", "--resume", "run"] if started else ["train", *settings, "--into", "run"]


def killed_after(folder: Path, seconds: float, settings: tuple[str, ...] = SETTINGS) -> bool:
    """Start or resume, kill after so many seconds of training; whether it died of that."""
    child = subprocess.Popen(
        [sys.executable, "-m", "mixcal", *words(folder, settings)],
        cwd=folder,
        env=os.environ | ONE_THREAD,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    log = folder / "run" / "log.jsonl"
    before = log.stat().st_mtime if log.exists() else 0.0
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and child.poll() is None:
        if log.exists() and log.stat().st_mtime != before:
            break
        time.sleep(0.01)
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    return child.wait() == -signal.SIGKILL


def killed_within_a_save(folder: Path, call: int, settings: tuple[str, ...] = SETTINGS) -> bool:
    """Start or resume, die at a given durable write; whether it came to that."""
    done = stopped_at_write(folder, call, signal.SIGKILL, settings)
    return done.returncode == -signal.SIGKILL


def stopped_at_write(
    folder: Path, call: int, number: signal.Signals, settings: tuple[str, ...] = SETTINGS
) -> subprocess.CompletedProcess:
    """Start or resume, and get a signal at a given durable write."""
    return subprocess.run(
        [sys.executable, "-c", DYING, str(call), str(int(number)), *words(folder, settings)],
        cwd=folder,
        env=os.environ | ONE_THREAD,
        capture_output=True,
        text=True,
    )


def finish(folder: Path, settings: tuple[str, ...] = SETTINGS) -> None:
    """Start or resume, and let it come to its end."""
    done = mixcal(*words(folder, settings), cwd=folder)
    assert done.returncode == 0, done.stderr
