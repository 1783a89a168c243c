"""`mixcal rescale` on files and on a run folder: what it writes equals what Python gives."""

import json
from pathlib import Path

import numpy as np
import pytest

from mixcal.cli import main
from mixcal.core.predictions import Predictions
from mixcal.exporting import rescaler_of
from mixcal.judging.rescaling.registry import RESCALERS
from mixcal.judging.rescaling.saving import load_rescaler
from mixcal.judging.rescaling.temperature import Temperature
from mixcal.judging.summary import summarized
from mixcal.training.folder import RunFolder
from tests.support.command import QUICK, mixcal


def predictions(split: str, n: int, seed: int) -> Predictions:
    generator = np.random.default_rng(seed)
    z = generator.standard_normal((n, 4)) * 2
    labels = (z + generator.gumbel(size=(n, 4))).argmax(1)
    return Predictions.of(labels, logits=2 * z, split=split)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    predictions("validation", 400, 0).save(tmp_path / "val.npz")
    predictions("test", 500, 1).save(tmp_path / "test.npz")
    return tmp_path


FILES = ("rescale", "--fit", "val.npz", "--apply", "test.npz")


def test_files(files: Path) -> None:
    done = mixcal(*FILES, "--out", "out.npz", "--save", "t.json", "--json", cwd=files)
    assert done.returncode == 0, done.stderr
    held, test = predictions("validation", 400, 0), predictions("test", 500, 1)
    fitted = Temperature.fit(held.logits, held.labels)
    out = Predictions.load(files / "out.npz")
    assert np.array_equal(out.scores, fitted.transform(test.logits))
    assert (out.kind, out.split, out.notes["rescaler"]) == ("probs", "test", "temperature")
    assert load_rescaler(files / "t.json") == fitted
    record = json.loads(done.stdout)
    assert record["rescaler"]["temperature"] == pytest.approx(fitted.temperature, abs=1e-6)
    assert record["after"]["metrics"]["ece"]["value"] < record["before"]["metrics"]["ece"]["value"]
    assert record["after"]["metrics"]["error"] == record["before"]["metrics"]["error"]
    # Once more is no conflict, another outcome is.
    again = mixcal(*FILES, "--out", "out.npz", cwd=files)
    assert again.returncode == 0
    for word in ("before", "temperature", "400 samples", "written: out.npz"):
        assert word in again.stdout
    other = (*FILES, "--set", "criterion=grid-ece", "--out", "out.npz")
    clash = mixcal(*other, cwd=files)
    assert clash.returncode == 2
    assert "--overwrite" in clash.stderr
    assert np.array_equal(Predictions.load(files / "out.npz").scores, out.scores)
    assert mixcal(*other, "--overwrite", cwd=files).returncode == 0
    loaded = mixcal(
        "rescale", "--load", "t.json", "--apply", "test.npz", "--out", "o2.npz", cwd=files
    )
    assert loaded.returncode == 0, loaded.stderr
    assert (files / "o2.npz").read_bytes() != (files / "out.npz").read_bytes()
    assert np.array_equal(Predictions.load(files / "o2.npz").scores, out.scores)


def test_a_file_that_does_not_name_its_split_may_be_fitted_on(files: Path) -> None:
    held = predictions("validation", 400, 0)
    np.savez(files / "plain.npz", logits=held.scores, labels=held.labels)
    done = mixcal("rescale", "--fit", "plain.npz", "--apply", "test.npz", cwd=files)
    assert done.returncode == 0, done.stderr


def test_tables_are_read_as_by_judge(files: Path) -> None:
    for split, n, seed in (("val", 400, 0), ("test", 500, 1)):
        made = predictions(split, n, seed)
        rows = [",".join(map(repr, row)) for row in made.scores.tolist()]
        lines = [f"{row},{label}" for row, label in zip(rows, made.labels.tolist(), strict=True)]
        (files / f"{split}.csv").write_text("\n".join(["0,1,2,3,label", *lines]))
    tables = ("rescale", "--fit", "val.csv", "--apply", "test.csv", "--json")
    done = mixcal(*tables, "--logits", cwd=files)
    assert done.returncode == 0, done.stderr
    plain = mixcal(*FILES, "--json", cwd=files)
    assert json.loads(done.stdout) == json.loads(plain.stdout)
    unsaid = mixcal(*tables, cwd=files)
    assert (unsaid.returncode, unsaid.stdout) == (2, "")
    assert "--logits or --probs" in unsaid.stderr


@pytest.mark.parametrize("how", ["permuted", "some", "as probs", "with others", "TEST"])
def test_fitting_on_what_is_rescaled_is_seen_through(
    files: Path, how: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    test, other = predictions("test", 500, 1), predictions("validation", 400, 0)
    order = np.random.default_rng(0).permutation(500)
    single = test.probs.astype(np.float32)
    scores, labels = {
        "permuted": ({"logits": test.scores[order]}, test.labels[order]),
        "some": ({"logits": test.scores[100:]}, test.labels[100:]),
        "as probs": ({"probs": single[order[:400]]}, test.labels[order[:400]]),
        "with others": (
            {"logits": np.concatenate([other.scores, test.scores[:200]])},
            np.concatenate([other.labels, test.labels[:200]]),
        ),
        "TEST": ({"logits": other.scores}, other.labels),
    }[how]
    split = {"split": np.array("TEST")} if how == "TEST" else {}
    np.savez(files / "sly.npz", labels=labels, **scores, **split)
    monkeypatch.chdir(files)
    for more in ((), ("--sets", "lac")):
        assert main(["rescale", "--fit", "sly.npz", "--apply", "test.npz", *more]) == 2
        shown = capsys.readouterr().err
        assert ("the split is test" if how == "TEST" else "hold the same samples") in shown


def test_sure_samples_of_two_splits_are_not_taken_for_the_same(files: Path) -> None:
    for name, n in (("val", 300), ("test", 300)):
        generator = np.random.default_rng(len(name))
        sure = np.where(np.arange(n) < 250, 40.0, generator.normal(0, 1, n))
        np.savez(files / f"{name}.npz", logits=np.stack([sure, -sure], 1), labels=np.zeros(n, int))
    done = mixcal(*FILES, "--method", "histogram", cwd=files)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--fit", "test.npz", "--apply", "val.npz"), "test.npz: the split is test"),
        (("--fit", "val.npz", "--apply", "val.npz"), "hold the same samples"),
        (("--fit", "val.npz"), "--apply"),
        (("--fit", "no.npz", "--apply", "test.npz"), "no.npz does not exist"),
        (("--fit", "val.npz", "--apply", "two.npz"), "4 classes and two.npz 2"),
        ((*FILES[1:], "--method", "temprature"), "did you mean 'temperature'"),
        ((*FILES[1:], "--set", "criterium=nll"), "did you mean 'criterion'"),
        ((*FILES[1:], "--out", "no/out.npz"), "folder of no/out.npz does not exist"),
        ((*FILES[1:], "--out", "."), ". is a folder"),
        ((*FILES[1:], "--save", "."), ". is a folder"),
        ((*FILES[1:], "--method", "histogram", "--set", "bins=abc"), "bins is 'abc'"),
        ((*FILES[1:], "--sets", "lac", "--method", "temperature"), "do not go together"),
        (("--fit", "test.npz", "--apply", "val.npz", "--sets", "lac"), "the split is test"),
        (("no-run",), "no-run is no run folder"),
        ((*FILES[1:], "--weights", "raw"), "files have none"),
    ],
)
def test_nonsense_is_one_sentence(
    files: Path,
    words: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(files)
    np.savez(files / "two.npz", logits=np.eye(2) * 3, labels=np.array([0, 1]))
    before = sorted(path.name for path in files.iterdir())
    assert main(["rescale", *words]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1
    assert sorted(path.name for path in files.iterdir()) == before


def test_sets(files: Path) -> None:
    done = mixcal(
        *FILES, "--sets", "aps", "--coverage", "0.9", "--out", "sets.npz", "--json", cwd=files
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    with np.load(files / "sets.npz") as file:
        sets, labels = file["sets"], file["labels"]
    assert found["coverage"] == pytest.approx(sets[np.arange(500), labels].mean())
    assert found["mean_size"] == pytest.approx(sets.sum(1).mean())
    assert found["coverage"] > 0.86
    assert "of 500 samples have it" in mixcal(*FILES, "--sets", "lac", cwd=files).stdout


def test_a_run_folder(tmp_path: Path) -> None:
    pool = ("--set", 'method.data.validation="pool"')
    done = mixcal("train", *QUICK, *pool, "--into", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = tmp_path / "run"
    judgement = json.loads((run / "judgement.json").read_text())
    rows = judgement["judged"]["test"]
    # The twelve steps of this run leave a network that is far from calibrated.
    assert "averaged, last, temperature" in rows
    held = Predictions.load(run / "predictions" / "validation.npz")
    fitted = load_rescaler(run / "rescaling" / "temperature.json")
    assert fitted == Temperature.fit(held.logits, held.labels)
    test = Predictions.load(run / "predictions" / "test.npz")
    after = Predictions.load(run / "predictions" / "test-temperature.npz")
    assert np.array_equal(after.scores, fitted.transform(test.logits))
    nll = -np.log(after.scores[np.arange(len(test)), test.labels]).mean()
    numbers = rows["averaged, last, temperature"]["metrics"]
    assert numbers["nll"]["value"] == pytest.approx(nll, abs=1e-5)
    # Fitted by `train`, so once more is the same.
    again = mixcal("rescale", "run", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    grid = mixcal("rescale", "run", "--set", "criterion=grid-ece", "--weights", "raw", cwd=tmp_path)
    assert grid.returncode == 2
    assert "temperature-raw.json exists already" in grid.stderr
    sets = mixcal("rescale", "run", "--sets", "lac", cwd=tmp_path)
    assert sets.returncode == 0, sets.stderr
    assert (run / "rescaling" / "lac-test.npz").is_file()
    # Training saved no features; those that need them predict anew.
    assert held.features is None
    assert main(["rescale", str(run), "--method", "procal", "--json"]) == 0
    made = load_rescaler(run / "rescaling" / "procal.json")
    procal = Predictions.load(run / "predictions" / "test-procal.npz")
    assert np.array_equal(procal.ids, test.ids)
    assert np.array_equal(procal.scores, made.transform(test.logits, features=procal.features))
    # The run's judgement and page show it; what predicts takes it only if asked to.
    judged = json.loads((run / "judgement.json").read_text())["judged"]["test"]
    assert judged["averaged, last, procal"]["metrics"] == summarized(procal)["metrics"]
    assert judged["averaged, last"] == judgement["judged"]["test"]["averaged, last"]
    assert "procal" in (run / "report.html").read_text()
    folder = RunFolder.open(run)
    assert rescaler_of(folder, "averaged", "") == ("temperature", fitted)
    assert rescaler_of(folder, "averaged", "procal")[0] == "procal"
    (run / "rescaling" / "temperature.json").unlink()
    assert rescaler_of(folder, "averaged", "") == ("none", None)


@pytest.mark.slow
def test_a_recipe_names_a_rescaler_that_needs_features_and_then_every_other(tmp_path: Path) -> None:
    more = ("--set", 'method.data.validation="pool"', "--set", 'running.rescaler="procal-bins"')
    assert main(["train", *QUICK, *more, "--into", str(tmp_path / "run")]) == 0
    judgement = json.loads((tmp_path / "run" / "judgement.json").read_text())
    assert "averaged, last, procal-bins" in judgement["judged"]["test"]
    held = Predictions.load(tmp_path / "run" / "predictions" / "validation.npz")
    assert held.features is not None
    fitted = load_rescaler(tmp_path / "run" / "rescaling" / "procal-bins.json")
    assert np.array_equal(fitted.reference, held.features)
    for name in RESCALERS:
        assert main(["rescale", str(tmp_path / "run"), "--method", name, "--json"]) == 0
        rescaled = Predictions.load(tmp_path / "run" / "predictions" / f"test-{name}.npz")
        assert rescaled.notes["rescaler"] == name


def test_without_validation_there_is_no_rescaler(tmp_path: Path) -> None:
    done = mixcal("train", *QUICK, "--no-validation", "--into", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not list((tmp_path / "run" / "rescaling").iterdir())
    done = mixcal("rescale", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "nothing to fit a rescaler on" in done.stderr
