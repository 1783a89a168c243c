"""Members of one recipe: each against a run of its own, the ensemble against their predictions, and
what is stopped or enlarged against what was trained at once."""

import json
import shutil
import statistics
from pathlib import Path

import numpy as np
import pytest

from mixcal.cli import main
from mixcal.commands.train_members import Members
from mixcal.core.predictions import Predictions
from mixcal.judging.rescaling.saving import load_rescaler
from mixcal.predicting.ensemble import ensembled
from tests.support.runs import LITTLE

WORDS = ("train", "digits", *LITTLE, "--set", 'method.data.validation="labels"')
FEW = ("--set", "method.steps=6", "--set", "method.data.labels_per_class=12")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("members") / "two"
    assert main([*WORDS, *FEW, "--members", "2", "--into", str(folder)]) == 0
    return folder


def scores(path: Path) -> np.ndarray:
    return Predictions.load(path).scores


def test_members_differ_in_their_seed_and_see_the_same_splits(trained: Path) -> None:
    splits = [(trained / name / "splits.json").read_bytes() for name in ("s0", "s1")]
    assert splits[0] == splits[1]
    own = [scores(trained / name / "predictions" / "test.npz") for name in ("s0", "s1")]
    assert not np.allclose(own[0], own[1], atol=1e-3)


def test_the_ensemble_is_the_mean_of_its_members(trained: Path) -> None:
    for split in ("test", "validation"):
        members = [Predictions.load(trained / n / f"predictions/{split}.npz") for n in ("s0", "s1")]
        whole = Predictions.load(trained / "predictions" / f"{split}.npz")
        assert np.array_equal(whole.scores, ensembled(members).scores)
        assert whole.members is not None
    judgement = json.loads((trained / "judgement.json").read_text())
    errors = [
        json.loads((trained / n / "judgement.json").read_text())["judged"]["test"][
            "averaged, last"
        ]["metrics"]["error"]["value"]
        for n in ("s0", "s1")
    ]
    found = judgement["mean_of_members"]["test"]["averaged, last"]["error"]
    assert found["mean"] == pytest.approx(statistics.fmean(errors))
    assert found["standard_deviation"] == pytest.approx(statistics.stdev(errors))
    assert judgement["label_budget"]["total"] == 120
    rescaler = trained / "rescaling" / "temperature.json"
    assert rescaler.is_file() == ("ensemble of 2, temperature" in judgement["judged"]["test"])
    if rescaler.is_file():
        wanted = load_rescaler(rescaler).transform(whole_logits(trained))
        assert np.allclose(scores(trained / "predictions" / "test-temperature.npz"), wanted)


def whole_logits(trained: Path) -> np.ndarray:
    return Predictions.load(trained / "predictions" / "test.npz").logits


def test_the_folder_predicts_and_is_judged_as_one(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", str(trained), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == 898
    out = tmp_path / "again.npz"
    assert main(["predict", str(trained), "--split", "test", "--out", str(out)]) == 0
    again = Predictions.load(out)
    assert np.array_equal(again.scores, scores(trained / "predictions" / "test.npz"))


def test_what_was_stopped_goes_on_and_more_can_be_added(trained: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(trained, copy)
    # As after a stop in the middle of the second member, before its judgement.
    shutil.rmtree(copy / "predictions")
    (copy / "s1" / "judgement.json").unlink()
    (copy / "judgement.json").unlink()
    kept = (copy / "s0" / "judgement.json").stat().st_mtime_ns
    assert main(["train", "--resume", str(copy)]) == 0
    assert (copy / "s0" / "judgement.json").stat().st_mtime_ns == kept
    for name in ("test", "validation"):
        same = [(root / "predictions" / f"{name}.npz").read_bytes() for root in (copy, trained)]
        assert same[0] == same[1]
    assert main([*WORDS, *FEW, "--members", "3", "--into", str(copy)]) == 0
    assert len(Predictions.load(copy / "predictions" / "test.npz").members) == 3
    assert (copy / "s0" / "judgement.json").stat().st_mtime_ns == kept


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--members", "1"), "at least two"),
        (("--members", "2", "--set", "method.batch=5"), "members of another recipe"),
        (("--members", "2", "--into", "full"), "exists already"),
    ],
)
def test_mistakes(
    trained: Path,
    more: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("precious")
    into = () if "--into" in more else ("--into", str(trained))
    assert main([*WORDS, *FEW, *into, *more]) == 2
    assert message in capsys.readouterr().err
    assert Members.opened(trained).seeds == range(2)


def test_a_damaged_list_of_members_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "members.json").write_text("{")
    assert main(["train", "--resume", str(tmp_path)]) == 2
    assert main(["predict", str(tmp_path), "x.png"]) == 2
    assert capsys.readouterr().err.count("members.json cannot be read") == 1
