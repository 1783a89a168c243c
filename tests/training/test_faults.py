"""Killed runs against the uninterrupted one: same weights, log and predictions, bit for bit."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.command import ONE_THREAD, mixcal
from tests.support.faults import (
    SETTINGS,
    finish,
    killed_after,
    killed_within_a_save,
    same,
    words,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    done = mixcal("train", *SETTINGS, "--into", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "run"


def test_one_kill_within_a_save_and_one_between(whole: Path, tmp_path: Path) -> None:
    assert killed_within_a_save(tmp_path, 27)
    killed_after(tmp_path, 0.2)
    finish(tmp_path)
    same(tmp_path / "run", whole)


@pytest.mark.slow
@pytest.mark.parametrize("chain", range(5))
def test_twenty_kills_at_seeded_random_moments(whole: Path, tmp_path: Path, chain: int) -> None:
    """Five chains of four kills, two by the clock and two within a save."""
    generator = random.Random(chain)
    kills = 0
    for turn in range(4):
        if turn % 2:
            kills += killed_within_a_save(tmp_path, generator.randint(8, 30))
        else:
            kills += killed_after(tmp_path, generator.random() * 0.5)
    assert kills == 4
    finish(tmp_path)
    same(tmp_path / "run", whole)


def test_a_run_killed_before_its_first_checkpoint_starts_anew(whole: Path, tmp_path: Path) -> None:
    assert killed_within_a_save(tmp_path, 13)
    assert not list((tmp_path / "run" / "checkpoints").glob("step-*"))
    finish(tmp_path)
    same(tmp_path / "run", whole)


def test_ctrl_c_saves_says_how_to_go_on_and_exits_130(whole: Path, tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "mixcal", "train", *SETTINGS, "--into", "run"],
        cwd=tmp_path,
        env=os.environ | ONE_THREAD,
        stderr=subprocess.PIPE,
        text=True,
    )
    log = tmp_path / "run" / "log.jsonl"
    while not (log.exists() and log.stat().st_size):
        time.sleep(0.01)
        assert child.poll() is None
    child.send_signal(signal.SIGINT)
    _, said = child.communicate()
    assert child.returncode == 130
    assert "mixcal train --resume run" in said
    assert "Traceback" not in said
    assert len(list((tmp_path / "run" / "checkpoints").glob("step-*"))) >= 1
    finish(tmp_path)
    same(tmp_path / "run", whole)


def test_a_checkpoint_cut_in_half_costs_its_steps_only(whole: Path, tmp_path: Path) -> None:
    assert killed_within_a_save(tmp_path, 29)
    newest = sorted((tmp_path / "run" / "checkpoints").glob("step-*"))[-1]
    newest.write_bytes(newest.read_bytes()[: newest.stat().st_size // 2])
    done = mixcal("train", "--resume", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{newest.name} is damaged" in done.stderr
    same(tmp_path / "run", whole)


def test_a_full_disk_stops_with_a_sentence_and_the_run_goes_on_later(
    whole: Path, tmp_path: Path
) -> None:
    limited = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
        "from mixcal.cli import main\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited, *words(tmp_path)],
        cwd=tmp_path,
        env=os.environ | ONE_THREAD,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    assert "No room to write" in done.stderr
    assert "mixcal train --resume run" in done.stderr
    assert "Traceback" not in done.stderr
    assert not [p for p in (tmp_path / "run").rglob("*") if p.name.endswith(".part")]
    finish(tmp_path)
    same(tmp_path / "run", whole)


def test_resuming_with_other_data_is_refused(tmp_path: Path) -> None:
    assert killed_within_a_save(tmp_path, 27)
    left = {path: path.read_bytes() for path in (tmp_path / "run" / "checkpoints").iterdir()}
    splits = (tmp_path / "run" / "splits.json").read_bytes()
    recipe = tmp_path / "run" / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("labels_per_class = 4", "labels_per_class = 5"))
    done = mixcal("train", "--resume", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "no longer split" in done.stderr
    assert left
    assert {path: path.read_bytes() for path in left} == left
    assert (tmp_path / "run" / "splits.json").read_bytes() == splits


LEDGER = (
    *SETTINGS,
    "--set",
    'method.calibrators=[{name="calibratemix", warmup_fraction=0.2, store="mapped"}]',
)


def test_a_mapped_ledger_survives_kills_too(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    finish(whole, LEDGER)
    assert killed_within_a_save(killed, 29, LEDGER)
    killed_after(killed, 0.3, LEDGER)
    assert killed_within_a_save(killed, 12, LEDGER)
    finish(killed, LEDGER)
    same(killed / "run", whole / "run")
    margins = [(root / "run" / "margins.npz").read_bytes() for root in (whole, killed)]
    assert margins[0] == margins[1]


def test_storage_kinds_train_alike(tmp_path: Path) -> None:
    found = []
    for store in ("mapped", "device"):
        (tmp_path / store).mkdir()
        finish(tmp_path / store, tuple(word.replace("mapped", store) for word in LEDGER))
        found.append((tmp_path / store / "run" / "margins.npz").read_bytes())
    assert found[0] == found[1]
