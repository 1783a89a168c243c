"""`mixcal probe`: what it writes is judged and drawn; wrong words are refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from mixcal.cli import main
from mixcal.judging.further import foreign
from mixcal.judging.reading import read_foreign, read_predictions


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a few steps with a temperature fitted on some of its labels."""
    run = tmp_path_factory.mktemp("trained") / "run"
    settings = (
        "method.steps=6",
        "method.epoch_steps=3",
        "method.batch=16",
        "method.algorithm=none",
        "method.data.validation=labels",
        "method.data.labels_per_class=20",
    )
    words = [word for setting in settings for word in ("--set", setting)]
    assert main(["train", *words, "--into", str(run)]) == 0
    return run


def probe(*words: str | Path) -> int:
    return main(["probe", *map(str, words)])


def test_noise_is_judged_and_drawn(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert probe(run, "--noise") == 0
    path = run / "probes" / "noise.npz"
    found = read_foreign(path)
    assert (len(found), found.kind) == (898, "logits")
    capsys.readouterr()
    assert main(["judge", str(path)]) == 2
    assert "labels" in capsys.readouterr().err
    familiar = read_predictions(run / "predictions" / "test.npz")
    detected = foreign(familiar, {"noise": found})["noise"]
    assert 0 < detected["max_softmax"]["auroc"]["value"] < 1
    # The same seed gives the same file, so asking again is no contradiction; another seed is.
    assert probe(run, "--noise") == 0
    assert probe(run, "--noise", "--seed", "1") == 2
    assert "exists already" in capsys.readouterr().err
    picture = tmp_path / "scores.svg"
    assert main(["plot", str(run), "--kind", "winning-scores", "--into", str(picture)]) == 0
    assert picture.is_file()


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs with dropout that differ in their seed."""
    folder = tmp_path_factory.mktemp("others")
    for seed in (0, 1):
        settings = (
            "method.steps=4",
            "method.batch=16",
            "method.algorithm=none",
            "method.backbone.dropout=0.4",
            f"method.seed={seed}",
        )
        words = [word for setting in settings for word in ("--set", setting)]
        assert main(["train", *words, "--into", str(folder / f"s{seed}")]) == 0
    return [folder / "s0", folder / "s1"]


def test_by_mc_dropout(others: list[Path], tmp_path: Path) -> None:
    assert probe(others[0], "--noise", "--samples", "30", "--mc-dropout", "3") == 0
    assert probe(others[0], "--noise", "--samples", "30") == 0
    drawn = read_foreign(others[0] / "probes" / "noise-mc-dropout-3.npz")
    plain = read_foreign(others[0] / "probes" / "noise.npz")
    assert (drawn.kind, drawn.notes["way"]) == ("probs", "mc-dropout-3")
    assert drawn.members is not None
    assert drawn.members.shape == (3, 30, 10)
    assert np.allclose(drawn.members.mean(0), drawn.scores, atol=1e-6)
    assert not np.allclose(drawn.members[0], drawn.members[1], atol=1e-3)
    assert not np.allclose(drawn.scores, plain.probs, atol=1e-3)
    # Judged beside test predictions made in the same way.
    test = tmp_path / "test.npz"
    words = ("predict", others[0], "--split", "test", "--mc-dropout", "3", "--out", test)
    assert main([*map(str, words)]) == 0
    found = foreign(read_predictions(test), {"noise": drawn})["noise"]
    assert 0 < found["max_softmax"]["auroc"]["value"] < 1


def test_scores_are_compared_by_the_same_way(others: list[Path]) -> None:
    from mixcal.commands.plot_kinds import Found, probes

    assert probe(others[1], "--noise", "--samples", "20", "--mc-dropout", "2") == 0
    assert probe(others[1], "--noise", "--samples", "30") == 0
    file = others[1] / "predictions" / "test.npz"
    found = probes(others[1], Found(read_predictions(file), file, others[1]))
    assert {name: len(one) for name, one in found.items()} == {"noise": 30}


def test_an_ensemble_answers_with_the_mean(others: list[Path], tmp_path: Path) -> None:
    whole = tmp_path / "whole.npz"
    assert probe(*others, "--noise", "--samples", "25", "--out", whole) == 0
    alone = []
    for place, run in enumerate(others):
        out = tmp_path / f"{place}.npz"
        assert probe(run, "--noise", "--samples", "25", "--out", out) == 0
        alone.append(read_foreign(out).probs)
    assert np.allclose(read_foreign(whole).scores, np.mean(alone, 0), atol=1e-6)
    assert read_foreign(whole).notes["way"] == "ensemble-2"


def test_an_ensemble_says_where(others: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert probe(*others, "--noise", "--samples", "5") == 2
    assert "--out FILE.npz" in capsys.readouterr().err


def test_foreign_pictures_by_test_time_augmentation(run: Path, tmp_path: Path) -> None:
    from tests.support.pictures import class_folders

    class_folders(tmp_path / "set" / "train", {"cat": 2, "dog": 2}, size=(20, 24))
    class_folders(tmp_path / "set" / "test", {"cat": 5, "dog": 4}, size=(20, 24))
    files = [tmp_path / f"{turns}.npz" for turns in (0, 2)]
    for turns, out in zip((0, 2), files, strict=True):
        more = ("--test-time", str(turns)) if turns else ()
        assert probe(run, "--foreign", tmp_path / "set", "--out", out, *more) == 0
    plain, augmented = map(read_foreign, files)
    assert augmented.kind == "logits"
    assert not np.allclose(plain.scores, augmented.scores, atol=1e-4)


def test_scores_are_compared_by_the_same_weights_and_rescaler(run: Path) -> None:
    """Averaged weights' noise is not drawn beside raw weights' predictions."""
    from mixcal.commands.plot_kinds import Found, probes

    assert probe(run, "--noise", "--samples", "20", "--weights", "raw") == 0
    assert probe(run, "--noise", "--samples", "30", "--overwrite") == 0
    for stem, count in (("test", 30), ("test-raw", 20)):
        file = run / "predictions" / f"{stem}.npz"
        found = probes(run, Found(read_predictions(file), file, run))
        assert {name: len(one) for name, one in found.items()} == {"noise": count}


def test_walks_keep_the_accuracy_of_the_rescaled(run: Path, tmp_path: Path) -> None:
    assert probe(run, "--hull", "--samples", "40", "--directions", "2") == 0
    record = json.loads((run / "probes" / "hull-unit.json").read_text())
    # A fit that does not help is not kept, and then there is one curve only.
    curves = [np.array(found["accuracy"]) for found in record["readings"].values()]
    assert all((curve == curves[0]).all() for curve in curves)
    assert curves[0].shape == (2, len(record["distances"]))
    assert (record["n"], record["classes"]) == (40, 10)
    picture = tmp_path / "hull.png"
    assert main(["plot", str(run), "--kind", "hull", "--into", str(picture)]) == 0


def test_foreign_pictures(run: Path, tmp_path: Path) -> None:
    from tests.support.pictures import class_folders

    class_folders(tmp_path / "set" / "train", {"cat": 2, "dog": 2}, size=(20, 24))
    class_folders(tmp_path / "set" / "test", {"cat": 5, "dog": 4}, size=(20, 24))
    out = tmp_path / "foreign.npz"
    words = (run, "--foreign", tmp_path / "set", "--leave-out", "dog", "--out", out)
    assert probe(*words) == 0
    assert len(read_foreign(out)) == 5


WRONG = {
    (): "one of the arguments",
    ("--hull", "--mc-dropout", "3"): "single passes of one run",
    ("--noise", "--mc-dropout", "3"): "no dropout",
    ("--noise", "--test-time", "3"): "noise is none",
    ("--noise", "--samples", "0"): "--samples is 0",
    ("--hull", "--directions", "-1"): "--directions is -1",
    ("--foreign", "digits"): "trained on",
    ("--foreign", "digitz"): "digitz",
    ("--noise", "--weights", "best"): "best",
}


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_wrong_words(words: tuple[str, ...], run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = probe(run, *words)
    except SystemExit as stopped:
        status = int(stopped.code or 0)
    assert status == 2
    assert WRONG[words] in capsys.readouterr().err
