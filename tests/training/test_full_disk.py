"""A full disk at several sizes: a sentence, nothing half-written, and a run that goes on later."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import ONE_THREAD, QUICK, mixcal

LIMITED = (
    "import resource, sys\n"
    "room = int(sys.argv.pop(1))\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))\n"
    "from mixcal.cli import main\n"
    "sys.exit(main())\n"
)
SETTINGS = (
    *QUICK,
    *("--set", 'method.algorithm="none"', "--set", "method.batch=8", "--set", "method.steps=150"),
    *("--set", "running.log_every=1", "--set", "running.checkpoint_every=1000"),
    *("--set", "running.evaluate_every=0"),
    *("--set", 'method.data.validation="pool"', "--set", "method.data.labels_per_class=40"),
)


def with_room(room: int, folder: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(room), *words],
        cwd=folder,
        env=os.environ | ONE_THREAD,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    done = mixcal("train", *SETTINGS, "--into", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "run"


@pytest.mark.parametrize(
    ("room", "file"),
    [
        (1_000, "recipe.toml"),
        (3_000, "splits.json"),
        (12_000, "log.jsonl"),
        (100_000, "step-"),
    ],
)
def test_training_ends_in_a_sentence_and_goes_on_later(
    whole: Path, tmp_path: Path, room: int, file: str
) -> None:
    done = with_room(room, tmp_path, "train", *SETTINGS, "--into", "run")
    assert done.returncode == 2, done.stderr
    said = done.stderr.splitlines()[-1]
    assert said.startswith("mixcal: No room to write run/")
    assert file in said
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("*.part"))
    begun = (tmp_path / "run" / "recipe.toml").is_file()
    assert ("go on with `mixcal train --resume run`" in said) == begun
    assert ("try again" in said) != begun
    words = ("--resume", "run") if begun else (*SETTINGS, "--into", "run")
    assert mixcal("train", *words, cwd=tmp_path).returncode == 0
    for name in ("log.jsonl", "judgement.json", "splits.json"):
        assert (tmp_path / "run" / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.parametrize("room", [100, 100_000])
def test_export_ends_in_a_sentence_and_leaves_nothing(
    whole: Path, tmp_path: Path, room: int
) -> None:
    done = with_room(room, tmp_path, "export", str(whole), "--into", "bundle")
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("mixcal: No room to write ")
    assert "free some space and try again" in done.stderr
    assert not list(tmp_path.iterdir())
