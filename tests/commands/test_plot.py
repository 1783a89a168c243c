"""`mixcal plot`: every kind writes its picture, wrong words get one sentence and leave nothing."""

import json
from pathlib import Path

import numpy as np
import pytest

from mixcal.cli import main
from mixcal.commands.plot_kinds import KINDS, mixing_parameters
from tests.support.judged import made_predictions

STUDY = """
[study]
recipe = "digits"
rows = "{rows}"
seeds = [0, 1]
[study.axes.host]
fixmatch = []
softmatch = []
[study.axes.alpha]
"0.1" = []
"1" = []
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Predictions, foreign ones, soft labels, and a study of which one run is missing."""
    folder = tmp_path_factory.mktemp("files")
    made_predictions(300).save(folder / "net.npz")
    made_predictions(300, noise=0.5).save(folder / "other.npz")
    made_predictions(100, seed=7, temperature=3).save(folder / "foreign.npz")
    np.savez(folder / "people.npz", counts=np.array([[3, 1], [4, 0]]))
    (folder / "study.toml").write_text(STUDY.format(rows=folder / "rows"))
    (folder / "rows").mkdir()
    for host, base in (("fixmatch", 0.2), ("softmatch", 0.1)):
        for alpha in ("0.1", "1"):
            for seed in (0, 1):
                numbers = {"averaged, last": {"ece_15": base + 0.01 * seed, "nll": 1.5}}
                row = {"numbers": {"test": numbers}, "seed": seed}
                (folder / "rows" / f"{host}-{alpha}-s{seed}.json").write_text(json.dumps(row))
    (folder / "rows" / "softmatch-1-s1.json").unlink()
    return folder


WORDS = {
    "reliability": ("net.npz", "other.npz", "--bins", "10", "--band", "bootstrap"),
    "confidence": ("net.npz",),
    "winning-scores": ("net.npz", "--ood", "foreign.npz"),
    "label-entropy": ("people.npz", "--alpha", "0.4"),
    "risk-coverage": ("net.npz", "other.npz"),
    "confusion": ("net.npz",),
    "bars": ("study.toml",),
    "knob": ("study.toml", "--metric", "nll"),
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four steps that logged the bins of its evaluations."""
    run = tmp_path_factory.mktemp("trained") / "run"
    settings = (
        "method.steps=4",
        "method.epoch_steps=2",
        "method.batch=4",
        "method.unlabeled_ratio=2",
        "running.evaluate_every=2",
        "running.log_bins=20",
        'method.calibrators=[{ name = "mixup", alpha = 0.4 }]',
        "method.algorithm=none",
    )
    words = [word for setting in settings for word in ("--set", setting)]
    assert main(["train", *words, "--watch-test", "--into", str(run)]) == 0
    return run


def plot(*words: str | Path) -> int:
    return main(["plot", *map(str, words)])


@pytest.mark.parametrize("kind", WORDS)
def test_files_become_pictures(
    kind: str, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    into = tmp_path / f"{kind}.svg"
    assert plot(*WORDS[kind], "--kind", kind, "--into", into) == 0
    assert into.read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize("edges", ["mass", "smooth"])
def test_other_bins(edges: str, files: Path, tmp_path: Path) -> None:
    into = tmp_path / "picture.png"
    words = (files / "net.npz", "--kind", "reliability", "--edges", edges)
    assert plot(*words, "--into", into) == 0
    assert into.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "kind", ["mistakes", "hits", "reliability", "joint-density", "label-entropy"]
)
def test_a_run_becomes_pictures(kind: str, trained: Path, tmp_path: Path) -> None:
    into = tmp_path / "picture.png"
    assert plot(trained, "--kind", kind, "--into", into, "--predictions", "test-raw") == 0
    assert into.read_bytes().startswith(b"\x89PNG")


def test_evaluations_log_what_the_density_needs(trained: Path) -> None:
    log = [json.loads(line) for line in (trained / "log.jsonl").read_text().splitlines()]
    evaluations = [line for line in log if "split" in line]
    assert len(evaluations) == 4
    for line in evaluations:
        assert sum(line["bins"]["counts"]) == 898
        assert 1 - sum(line["bins"]["right"]) / 898 == pytest.approx(line["error"])
        assert sum(line["bins"]["confidence"]) / 898 == pytest.approx(line["confidence"])


def test_the_mixing_parameter_is_the_runs(trained: Path) -> None:
    assert mixing_parameters(trained) == {"run: mixup, α = 0.4": 0.4}


def test_bars_of_a_study_are_its_means(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mixcal.commands.plot import add_options
    from mixcal.judging.plots.study_charts import Measured

    seen = {}
    monkeypatch.setattr(
        "mixcal.judging.plots.study_charts.draw_bars", lambda bars, **_: seen.update(bars)
    )
    import argparse

    parser = argparse.ArgumentParser()
    add_options(parser)
    words = [str(files / "study.toml"), "--kind", "bars", "--along", "host"]
    KINDS["bars"].draw(parser.parse_args(words))
    assert list(seen) == ["0.1", "1"]
    assert list(seen["1"]) == ["fixmatch", "softmatch"]
    assert seen["1"]["softmatch"] == Measured.of_runs([10.0])
    assert seen["0.1"]["fixmatch"].estimate.value == pytest.approx(20.5)
    seen.clear()
    KINDS["bars"].draw(parser.parse_args([*words, "--where", "alpha=1"]))
    assert list(seen) == [""]


def test_kinds_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert plot("--kinds") == 0
    said = capsys.readouterr().out
    assert [line.split()[0] for line in said.splitlines()] == list(KINDS)


WRONG = {
    ("net.npz", "--into", "p.png"): "Say what to draw with --kind",
    ("net.npz", "--kind", "reliabilty", "--into", "p.png"): "did you mean 'reliability'?",
    ("net.npz", "--kind", "confidence"): "--into",
    ("net.npz", "--kind", "confidence", "--into", "p.gif"): "ends in none of .png",
    ("net.npz", "--kind", "confidence", "--into", "no/p.png"): "no is no folder",
    ("net.npz", "--kind", "confidence", "--into", "net.npz"): "ends in none of",
    ("--kind", "confidence", "--into", "p.png"): "Give a run folder",
    ("gone.npz", "--kind", "confidence", "--into", "p.png"): "gone.npz does not exist",
    ("net.npz", "other.npz", "--kind", "confusion", "--into", "p.png"): "got 2",
    ("net.npz", "--kind", "winning-scores", "--into", "p.png"): "no foreign samples",
    ("net.npz", "--kind", "mistakes", "--into", "p.png"): "one run folder",
    ("net.npz", "--kind", "joint-density", "--into", "p.png"): "one run folder",
    ("net.npz", "--kind", "hull", "--into", "p.png"): "net.npz cannot be read",
    (
        "net.npz",
        "--kind",
        "reliability",
        "--edges",
        "smooth",
        "--band",
        "bootstrap",
        "--into",
        "p.png",
    ): "no bins to draw anew",
    ("net.npz", "--kind", "knob", "--into", "p.png"): "one study",
    ("net.npz", "--kind", "bars", "--metric", "f1", "--into", "p.png"): "no metric 'f1'",
    ("study.toml", "--kind", "bars", "--along", "x", "--into", "p.png"): "axes are host, alpha",
    ("study.toml", "--kind", "bars", "--where", "host=x", "--into", "p.png"): "AXIS=CHOICE",
    ("study.toml", "--kind", "knob", "--metric", "f1", "--into", "p.png"): "no rows with 'f1'",
}


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_wrong_words(
    words: tuple[str, ...],
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(files)
    assert plot(*words) == 2
    said = capsys.readouterr().err
    assert said.startswith("mixcal: ")
    assert said.count("\n") == 1
    assert WRONG[words] in said
    assert not list(files.glob("*p.*"))


def test_nothing_is_overwritten_unasked(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    into = tmp_path / "p.svg"
    words = (files / "net.npz", "--kind", "confidence", "--into", into)
    assert plot(*words) == 0
    made = into.read_bytes()
    assert plot(*words) == 2
    assert "exists already" in capsys.readouterr().err
    assert plot(*words, "--overwrite") == 0
    assert into.read_bytes() == made
