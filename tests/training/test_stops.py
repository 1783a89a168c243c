"""Runs stopped while their folder is made, or while they are concluded, against the whole one."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import ONE_THREAD, QUICK, mixcal
from tests.support.faults import stopped_at_write

LITTLE = (
    *QUICK,
    "--set",
    'method.algorithm="none"',
    "--set",
    "method.batch=8",
    "--set",
    "method.steps=3",
)
# Gets a signal where a function of the conclusion would be called.
CONCLUDING = """
import os, sys
import mixcal.conclusion
from mixcal.cli import main
signal = int(sys.argv.pop(1))
def asked(*args):
    os.kill(os.getpid(), signal)
    raise AssertionError("the signal came late")
mixcal.conclusion.label_budget = asked
sys.exit(main())
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    done = mixcal("train", *LITTLE, "--into", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "run"


def same_files(ours: Path, theirs: Path) -> None:
    """The folders hold files of the same names, and what the recipe decides is equal."""
    names = [{str(p.relative_to(root)) for p in root.rglob("*")} for root in (ours, theirs)]
    assert names[0] == names[1]
    for name in ("log.jsonl", "splits.json", "network.json", "recipe.toml", "judgement.json"):
        assert (ours / name).read_bytes() == (theirs / name).read_bytes(), name


# Recipe, environment, splits, network: each is put on the disk, renamed, and its folder synced.
@pytest.mark.parametrize("call", [2, 4, 8, 12])
def test_a_kill_while_the_folder_is_made_costs_nothing(
    whole: Path, tmp_path: Path, call: int
) -> None:
    assert stopped_at_write(tmp_path, call, signal.SIGKILL, LITTLE).returncode == -signal.SIGKILL
    begun = (tmp_path / "run" / "recipe.toml").exists()
    assert begun == (call > 2)
    assert not (tmp_path / "run" / "log.jsonl").exists()
    words = ("--resume", "run") if begun else (*LITTLE, "--into", "run")
    done = mixcal("train", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    left = list((tmp_path / "run").glob(".*.part"))
    assert not left
    same_files(tmp_path / "run", whole)


def test_ctrl_c_while_the_folder_is_made_says_how_to_go_on(whole: Path, tmp_path: Path) -> None:
    done = stopped_at_write(tmp_path, 7, signal.SIGINT, LITTLE)
    assert done.returncode == 130
    assert done.stderr.endswith("mixcal: Stopped; go on with `mixcal train --resume run`.\n")
    assert not (tmp_path / "run" / "splits.json").exists()
    assert mixcal("train", "--resume", "run", cwd=tmp_path).returncode == 0
    same_files(tmp_path / "run", whole)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_during_the_conclusion_says_how_to_go_on(
    whole: Path, tmp_path: Path, number: signal.Signals
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CONCLUDING, str(int(number)), "train", *LITTLE, "--into", "run"],
        cwd=tmp_path,
        env=os.environ | ONE_THREAD,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 130
    assert done.stderr.endswith("mixcal: Stopped; go on with `mixcal train --resume run`.\n")
    assert not (tmp_path / "run" / "judgement.json").exists()
    assert mixcal("train", "--resume", "run", cwd=tmp_path).returncode == 0
    same_files(tmp_path / "run", whole)


def test_a_folder_with_something_in_it_is_still_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".recipe.toml.part").write_text("")
    (tmp_path / "run" / "mine").write_text("")
    done = mixcal("train", *LITTLE, "--into", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "exists already" in done.stderr


@pytest.mark.parametrize("damage", ["gone", "half"])
def test_lost_splits_of_a_run_with_a_checkpoint_are_a_sentence(
    whole: Path, tmp_path: Path, damage: str
) -> None:
    run = shutil.copytree(whole, tmp_path / "run")
    (run / "judgement.json").unlink()
    text = (run / "splits.json").read_text()
    (run / "splits.json").unlink()
    if damage == "half":
        (run / "splits.json").write_text(text[: len(text) // 2])
    done = mixcal("train", "--resume", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "splits.json cannot be read" in done.stderr
    assert "restore the file" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_log_that_is_too_short_is_refused(whole: Path, tmp_path: Path) -> None:
    run = shutil.copytree(whole, tmp_path / "run")
    (run / "judgement.json").unlink()
    (run / "log.jsonl").unlink()
    done = mixcal("train", "--resume", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("mixcal: run/log.jsonl has 0 bytes, and had ")
    assert not (run / "log.jsonl").exists()


def test_a_finished_run_is_left_as_it_is(whole: Path, tmp_path: Path) -> None:
    run = shutil.copytree(whole, tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    done = mixcal("train", "--resume", "run", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout == "run is finished; `mixcal judge run` tells its numbers.\n"
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before
    # A stop before the page was made leaves the numbers; the page follows.
    page = (run / "report.html").read_bytes()
    (run / "report.html").unlink()
    assert "report: run/report.html" in mixcal("train", "--resume", "run", cwd=tmp_path).stdout
    assert (run / "report.html").read_bytes() == page


@pytest.mark.parametrize("every", ["0", "100"])
def test_there_is_a_checkpoint_at_the_end_however_rare_they_are(tmp_path: Path, every: str) -> None:
    settings = (*LITTLE, "--set", f"running.checkpoint_every={every}")
    assert mixcal("train", *settings, "--into", "run", cwd=tmp_path).returncode == 0
    made = [path.name for path in (tmp_path / "run" / "checkpoints").glob("step-*")]
    assert made == ["step-0000000003.safetensors"]
    assert mixcal("export", "run", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("steps", [4, 1])
def test_no_checkpoint_holds_ruined_weights(tmp_path: Path, steps: int) -> None:
    ruined = (
        *("--set", "method.optimizer.learning_rate=1e20"),
        *("--set", "method.optimizer.weight_decay=1e30"),
        *("--set", f"method.steps={steps}"),
        *("--set", "running.checkpoint_every=1"),
    )
    done = mixcal("train", *LITTLE, *ruined, "--into", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "The weights are not finite after step 1" in done.stderr
    assert not list((tmp_path / "run" / "checkpoints").glob("*.safetensors"))


@pytest.mark.parametrize(("damage", "said"), [("gone", "is not there"), ("half", "is damaged")])
def test_a_lost_best_checkpoint_is_said_and_the_rest_judged(
    tmp_path: Path, damage: str, said: str
) -> None:
    settings = (*LITTLE, "--set", 'method.data.validation="pool"', "--into", "run")
    assert mixcal("train", *settings, cwd=tmp_path).returncode == 0
    run = tmp_path / "run"
    whole = json.loads((run / "judgement.json").read_text())
    assert "best by validation" in whole["judged"]["test"]
    (run / "judgement.json").unlink()
    best = run / "checkpoints" / "best.safetensors"
    kept = best.read_bytes()
    best.unlink()
    if damage == "half":
        best.write_bytes(kept[: len(kept) // 2])
    done = mixcal("train", "--resume", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    sentence = "The weights that were best by validation are not judged"
    assert sentence in done.stderr
    judged = json.loads((run / "judgement.json").read_text())
    assert any(sentence in remark and said in remark for remark in judged["remarks"])
    for label, numbers in judged["judged"]["test"].items():
        assert numbers == whole["judged"]["test"][label]
    assert "averaged, last" in judged["judged"]["test"]
