"""Ways of predicting by the command line: files to judge against the run's own, rows of pictures
against the same ways by hand."""

import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from mixcal.cli import main
from mixcal.core.predictions import Predictions
from mixcal.judging.rescaling.saving import save_rescaler
from mixcal.judging.rescaling.temperature import Temperature
from mixcal.predicting.ensemble import ensembled
from tests.support.runs import trained_on_pictures


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ways")
    more = ("--set", "method.backbone.dropout=0.3", "--set", "method.steps=6")
    return trained_on_pictures(folder, *more)


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "copy"))


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_single_pass_gives_the_runs_own_predictions(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "again.npz"
    assert main(["predict", str(run), "--split", "test", "--out", str(out)]) == 0
    assert np.array_equal(
        Predictions.load(out).scores, Predictions.load(run / "predictions/test.npz").scores
    )


def test_features_are_kept_where_they_are_asked_for(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["predict", str(run), "--split", "test", "--rescaler", "none", "--test-time", "2"]
    assert main([*words, "--out", str(tmp_path / "bare.npz")]) == 0
    assert main([*words, "--features", "--out", str(tmp_path / "kept.npz")]) == 0
    bare, kept = (Predictions.load(tmp_path / f"{name}.npz") for name in ("bare", "kept"))
    assert bare.features is None
    assert kept.features is not None
    assert np.array_equal(bare.scores, kept.scores)
    capsys.readouterr()
    assert main(["judge", str(tmp_path / "kept.npz"), "--json"]) == 0
    judged = json.loads(capsys.readouterr().out)
    assert judged["further"]["piece"]["paper"]["value"] >= judged["metrics"]["ece"]["value"] - 1e-9


def test_features_are_of_one_network_and_of_a_file(
    run: Path, copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = ["predict", str(run), str(copy), "--split", "test", "--out", str(tmp_path / "x.npz")]
    assert main([*both, "--features"]) == 2
    assert "Members have no features" in capsys.readouterr().err
    (picture,) = sorted(run.parent.glob("mine/test/cat/*"))[:1]
    assert main(["predict", str(run), str(picture), "--features"]) == 2
    assert "--split test" in capsys.readouterr().err


def test_files_of_a_run_can_be_judged(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (copy / "rescaling").iterdir():
        path.unlink()
    save_rescaler(Temperature(temperature=2.0), copy / "rescaling" / "temperature.json")
    assert main(["predict", str(copy), "--split", "test", "--test-time", "3"]) == 0
    shown = capsys.readouterr().out
    assert "test-time-3, temperature" in shown
    averaged = Predictions.load(copy / "predictions" / "test-test-time-3.npz")
    assert averaged.kind == "logits"
    after = Predictions.load(copy / "predictions" / "test-test-time-3-temperature.npz")
    # The rescaler of logits without augmentation, on averaged logits.
    wanted = Temperature(temperature=2.0).transform(averaged.scores)
    assert np.allclose(after.scores, wanted)
    assert after.notes == {"way": "test-time-3", "rescaler": "temperature"}
    words = ["predict", str(copy), "--split", "validation", "--mc-dropout", "4"]
    assert main(words) == 0
    passes = Predictions.load(copy / "predictions" / "validation-mc-dropout-4.npz")
    assert passes.members is not None
    assert passes.members.shape == (4, len(passes), 2)
    # Means of probabilities are not what the rescaler was fitted on.
    assert not list(copy.glob("predictions/*mc-dropout-4-temperature.npz"))
    assert main(["judge", str(copy), "--json"]) == 0
    assert "test-test-time-3-temperature" in capsys.readouterr().out


def test_runs_of_the_same_data_make_an_ensemble(run: Path, copy: Path, tmp_path: Path) -> None:
    out = tmp_path / "both.npz"
    words = ["predict", str(run), str(copy), "--split", "test"]
    assert main(words) == 2
    assert main([*words, "--out", str(out)]) == 0
    own = Predictions.load(run / "predictions" / "test.npz")
    assert np.array_equal(Predictions.load(out).scores, ensembled([own, own]).scores)


def test_pictures_by_several_passes(
    run: Path, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pictures = str(run.parent / "mine" / "test")
    assert main(["predict", str(run), pictures, "--mc-dropout", "5"]) == 0
    rows = {row["path"]: row for row in rows_of(capsys.readouterr().out)}
    assert len(rows) == 6
    for row in rows.values():
        probs = np.array([float(row["p(cat)"]), float(row["p(dog)"])])
        assert float(row["entropy"]) == pytest.approx(-(probs * np.log(probs)).sum(), abs=1e-4)
        assert 0 < float(row["mutual_information"]) < float(row["entropy"])
    # One picture alone gets the masks it had among the others.
    single = str(run.parent / "mine" / "test" / "dog" / "001.png")
    assert main(["predict", str(run), single, "--mc-dropout", "5"]) == 0
    (alone,) = rows_of(capsys.readouterr().out)
    assert float(alone["p(cat)"]) == pytest.approx(float(rows[single]["p(cat)"]), abs=3e-6)
    # The same run twice agrees with itself.
    assert main(["predict", str(run), str(copy), pictures]) == 0
    agreed = rows_of(capsys.readouterr().out)
    assert all(float(row["mutual_information"]) == 0 for row in agreed)
    assert main(["predict", str(run), pictures, "--rescaler", "none"]) == 0
    plain = rows_of(capsys.readouterr().out)
    assert [row["p(cat)"] for row in plain] == [row["p(cat)"] for row in agreed]
    assert main(["predict", str(run), single, "--test-time", "2"]) == 0
    assert "entropy" not in capsys.readouterr().out


def test_a_network_without_dropout_is_refused_before_anything_is_written(
    picture_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pictures = str(picture_run.parent / "mine" / "test")
    assert main(["predict", str(picture_run), pictures, "--mc-dropout", "3"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "no dropout to draw from" in shown.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "after the model, or give --split test"),
        (["x.png", "--split", "test"], "x.png is no run"),
        (["--split", "test", "--format", "csv"], "leave --format out"),
        (["--split", "test", "--mc-dropout", "0"], "at least 1"),
        (["--split", "test", "--test-time", "-1"], "-1 augmentations"),
    ],
)
def test_mistakes(
    run: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", str(run), *words]) == 2
    assert message in capsys.readouterr().err
