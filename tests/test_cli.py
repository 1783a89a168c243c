"""The command line: quick to start, exit codes, and one sentence for every mistake."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from mixcal.cli import main
from tests.support.command import QUICK, mixcal


def test_help_is_quick_and_loads_nothing_heavy() -> None:
    code = (
        "import sys, time\n"
        "from mixcal.cli import main\n"
        "main(['--help']) if False else None\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'scipy', 'matplotlib', 'numpy', 'sklearn'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert time.process_time() < 0.4, time.process_time()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "train" in done.stdout


def dry(calibrators: str) -> tuple[str, ...]:
    branch = 'method.weak_branch="separate"'
    return ("train", "--dry-run", "--set", f"method.calibrators={calibrators}", "--set", branch)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("train", "nowhere"), "There is no recipe nowhere"),
        (("train", "--set", "method.stepz=1"), "did you mean 'steps'"),
        (("train", "--set", "method.algorithm.treshold=1"), "unknown key"),
        (("train", "--set", 'method.algorithm.name="fixmach"'), "did you mean 'fixmatch'"),
        (("train", "--set", "method.data.labels_per_class=400"), "400 were asked for"),
        (("train", "--set", 'running.device="tpu"'), "running.device is 'tpu'"),
        (("train", "--set", 'method.backbone.name="wrn-29-2"'), "depth must be 6 n + 4"),
        (("train", "--dry-run", "--set", "method.algorithm.name=softmach"), "mean 'softmatch'"),
        (("train", "--dry-run", "--set", "method.algorithm.momentun=1"), "mean 'momentum'"),
        (("train", "--dry-run", "--set", 'method.calibrators=[{name="brie"}]'), "mean 'brier'"),
        (dry('[{name="calibratemix", k=1.5}]'), "k is 1.5"),
        (dry('[{name="calibratemix", gamma=2.0}]'), "gamma is 2.0"),
        (dry('[{name="random-mixup", warmup_steps=1, warmup_fraction=0.1}]'), "not both"),
        (dry('[{name="calibratemix"}, {name="random-mixup"}]'), "both mix rows"),
        (dry('[{name="calibratemix"}, {name="margins"}]'), "both remember the margins"),
        (dry('[{name="calibratemix", preset="official"}]'), 'weak_branch = "joint"'),
        (("train", "--resume", "nowhere"), "no run folder"),
        (("train", "--resume", "x", "--into", "y"), "give no other option"),
        (("train", "--resume", "x", "--dry-run"), "give no other option"),
        (("train", "--resume", "x", "--no-validation"), "give no other option"),
        (("train", "--resume", "x", "--watch-test"), "give no other option"),
        (("train", "--resume", "x", "--strict"), "give no other option"),
        (("train", "--set", 'method.backbone={name="wrn", dropout=1.5}'), "below 1"),
        (("train", "--set", 'method.backbone={name="small", stride=0}'), "stride is 0"),
        (("train", "--set", 'method.backbone={name="os:getcwd"}'), "cannot be called as a factory"),
        (("train", "--set", 'method.algorithm={name="os:path"}'), "is no factory"),
        (("train", "--set", 'method.algorithm={name="builtins:repr"}'), "makes str, not Algorithm"),
        (("train", "--set", 'method.calibrators=[{name="builtins:id"}]'), "not Calibrator"),
        (("train", "--set", 'method.data.source="operator:is_"'), "makes bool, not Source"),
        (
            ("train", *("--set", "method.data.imbalance=10"), "--set", "method.data.head_count=91"),
            "set method.data.head_count to 90 or",
        ),
        (
            ("train", *("--set", "method.data.imbalance=2"), "--set", "method.data.train_limit=9"),
            "give one, and head_count",
        ),
        (("study", "x.toml", "--processes", "0"), "--processes is 0; it must be at least 1"),
        (("study", "x.toml", "--processes", "-2"), "--processes is -2"),
        (("train", "--data", "nowhere"), "--data nowhere"),
        (("train", "--into", "/proc/nothing"), "/proc/nothing cannot be made"),
        (("train", "."), "There is no recipe ."),
        (("train", "/"), "There is no recipe /"),
        (("train", "--set", "running.device=meta"), "running.device is 'meta'"),
        (("train", "--set", "method.optimizer.learning_rate=1e30"), "was not finite at step"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_two(
    words: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("warnings.showwarning", warnings.showwarning)
    assert main(words) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("mixcal: ")
    assert message in said


def test_a_mistake_in_a_process_of_its_own_shows_no_traceback(tmp_path: Path) -> None:
    done = mixcal("train", "--set", "method.stepz=1", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "mixcal: digits: unknown key 'method.stepz'; did you mean 'steps'?\n"


def test_a_run_folder_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("precious")
    done = mixcal("train", *QUICK, "--into", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "exists already" in done.stderr
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["mine.txt"]


def test_a_dry_run_shows_recipe_splits_and_size(tmp_path: Path) -> None:
    done = mixcal("train", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0
    for word in ("[method]", "labels_per_class = 4", "303,434 parameters", "898"):
        assert word in done.stdout
    assert not list(tmp_path.iterdir())


def test_a_dry_run_makes_no_ledger(tmp_path: Path) -> None:
    mapped = 'method.calibrators=[{name="calibratemix", store="mapped"}]'
    done = mixcal("train", "--dry-run", "--set", mapped, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.iterdir())


def test_recipes_and_methods_are_listed() -> None:
    listed = mixcal("recipes").stdout.splitlines()
    first = "Handwritten digits, 4 labels a class, SoftMatch"
    assert any(line.startswith("digits ") and first in line for line in listed)
    assert all(line.endswith(".") for line in listed)
    assert "softmatch" in mixcal("methods").stdout


def test_an_unknown_kind_of_method_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["methods", "--kind", "bogus"])
    assert stopped.value.code == 2
    assert "invalid choice: 'bogus'" in capsys.readouterr().err
