"""The walk: recipe → train → predictions → numbers, by the command line, as a newcomer does it."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import brier_score_loss, log_loss

from mixcal.core.predictions import Predictions
from mixcal.training.checkpoints import read_tensors
from tests.support.command import QUICK, mixcal


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("walk")
    done = mixcal(
        "train", *QUICK, "--set", 'method.data.validation="labels"', "--into", "run", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return folder / "run", done.stdout


def test_the_table_says_what_a_newcomer_needs(run: tuple[Path, str]) -> None:
    _, shown = run
    for word in ("error %", "ECE %", "95 % interval", "NLL", "Brier", "n = 898", "run folder: run"):
        assert word in shown
    assert "label budget: 40 (30 labeled + 10 validation, of the user's labels)" in shown


def test_the_folder_holds_what_repeats_and_judges_the_run(run: tuple[Path, str]) -> None:
    folder, _ = run
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found >= {
        "recipe.toml",
        "splits.json",
        "environment.json",
        "network.json",
        "log.jsonl",
        "timing.jsonl",
        "judgement.json",
        "checkpoints/best.safetensors",
        "checkpoints/step-0000000010.safetensors",
        "checkpoints/step-0000000012.safetensors",
        "predictions/test.npz",
        "predictions/test-raw.npz",
        "predictions/test-best.npz",
        "predictions/validation.npz",
    }


def test_numbers_equal_those_of_scikit_learn(run: tuple[Path, str]) -> None:
    folder, _ = run
    predictions = Predictions.load(folder / "predictions" / "test.npz")
    judged = json.loads((folder / "judgement.json").read_text())["judged"]["test"]
    numbers = judged["averaged, last"]["metrics"]
    probs = predictions.probs.astype(np.float64)
    probs /= probs.sum(1, keepdims=True)
    theirs = log_loss(predictions.labels, probs, labels=range(10))
    assert numbers["nll"]["value"] == pytest.approx(theirs, abs=1e-5)
    brier = brier_score_loss(predictions.labels, probs, labels=range(10), scale_by_half=False)
    assert numbers["brier"]["value"] == pytest.approx(brier, abs=1e-6)
    error = (predictions.probs.argmax(1) != predictions.labels).mean()
    assert numbers["error"]["value"] == pytest.approx(error)
    assert numbers["ece"]["low"] <= numbers["ece"]["value"] <= numbers["ece"]["high"]


def test_the_log_has_losses_and_evaluations(run: tuple[Path, str]) -> None:
    folder, _ = run
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    trained = [line for line in lines if "learning_rate" in line]
    assert [line["step"] for line in trained] == [3, 6, 9, 12]
    assert {"loss_labeled", "loss_unlabeled", "kept_fraction", "impurity_kept"} <= set(trained[0])
    judged = [line for line in lines if "split" in line]
    assert [(line["step"], line["weights"]) for line in judged] == [
        (6, "raw"),
        (6, "averaged"),
        (12, "raw"),
        (12, "averaged"),
    ]
    assert all(line["split"] == "validation" for line in judged)


def test_the_same_recipe_gives_the_same_bits(run: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = run
    recipe = folder / "recipe.toml"
    done = mixcal("train", recipe, "--into", "again", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("log.jsonl", "predictions/test.npz", "splits.json"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes(), name
    last = Path("checkpoints") / "step-0000000012.safetensors"
    ours, theirs = (read_tensors(root / last).tensors for root in (tmp_path / "again", folder))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_watching_the_test_data_marks_the_run(tmp_path: Path) -> None:
    done = mixcal("train", *QUICK, "--watch-test", "--into", "run", cwd=tmp_path)
    assert "watched during training" in done.stdout
    judgement = json.loads((tmp_path / "run" / "judgement.json").read_text())
    assert judgement["watched_test"]
    assert set(judgement["median_of_last_20"]) == {"test, raw", "test, averaged"}
    assert judgement["label_budget"]["total"] == 40
