"""What a study keeps beyond the judgement's numbers, against the same run's files judged by hand:
long tails, foreign samples by pairwise comparison, walks, people's votes, the rows trained on."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions
from mixcal.judging.metrics.proximity import piece, proximity
from mixcal.recipe import read_recipe
from mixcal.study import cells, read_study, run_cell
from mixcal.study_measures import measure, with_further
from mixcal.study_table import table
from tests.support.pictures import class_folders

STUDY = """
[study]
recipe = "digits"
rows = "rows"
seeds = [0]
set = [
  "method.algorithm=none", "method.steps=4", "method.batch=20", "method.averaging_decay=0",
  "method.data={labels_per_class='none', imbalance=10.0, head_count=60, order='balanced'}",
  "method.data.validation=labels", "running.checkpoint_every=100",
  "running.evaluate_every=2",
]
probes = ["--noise --samples 50", "--foreign photos", "--hull --samples 4 --directions 2"]
humans = "votes.npz"
fit = true
curves = true
ways = ["--rescaler none", "--test-time 2 --rescaler procal"]
ways_for = { method = "plain" }

[study.axes.method]
plain = []

[study.table]
weights = "raw, last"
metrics = ["error_tail", "ece_head", "adaptive_ece", "auroc_photos", "auroc_entropy_noise",
  "hull_accuracy_10", "hull_entropy_10", "human_divergence"]
"""
TEST = 898


def pairs_won(foreign: np.ndarray, familiar: np.ndarray) -> float:
    """The AUROC as what it means: foreign samples that look more foreign, ties half."""
    apart = foreign[:, None] - familiar[None]
    return float(((apart > 0) + 0.5 * (apart == 0)).mean())


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of one run with all measures."""
    from mixcal.commands.places import recipe_folder

    root = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(root)
        patched.setenv("MIXCAL_DATA", str(root))
        for part, count in (("train", 1), ("test", 3)):
            class_folders(root / "photos" / part, {"a": count, "b": count}, channels=1, size=(8, 8))
        votes = np.random.default_rng(0).multinomial(50, [0.1] * 10, size=TEST)
        np.savez(root / "votes.npz", counts=votes)
        (root / "some.toml").write_text(STUDY)
        study = read_study(root / "some.toml")
        Path("rows").mkdir()
        (cell,) = cells(study)
        recipe = read_recipe(Path(study.recipe), cell.settings, search=[recipe_folder()])
        assert run_cell(study, cell, recipe, root / "runs") == 0
    return root


def numbers(root: Path) -> dict:
    return json.loads((root / "rows" / "plain-s0.json").read_text())["numbers"]


def scores(root: Path, name: str) -> np.ndarray:
    with np.load(root / "runs" / "plain-s0" / name) as file:
        logits = file["logits"].astype(np.float64)
    return np.exp(logits - np.logaddexp.reduce(logits, 1)[:, None])


def test_long_tails(studied: Path) -> None:
    test = Predictions.load(studied / "runs" / "plain-s0" / "predictions" / "test-raw.npz")
    counts = test.class_counts
    assert counts is not None
    # A fifth of the labels went to validation.
    falling = [int(60 * 0.1 ** (k / 9) + 1e-6) for k in range(10)]
    assert np.all(np.abs(counts - 0.8 * np.array(falling)) <= 1)
    found = numbers(studied)["test"]["raw, last"]
    wrong = test.scores.argmax(1) != test.labels
    tail = np.isin(test.labels, np.argsort(-counts, kind="stable")[7:])
    assert found["error_tail"] == pytest.approx(wrong[tail].mean())
    judged = json.loads((studied / "runs" / "plain-s0" / "judgement.json").read_text())["judged"]
    assert [row["classes"] for row in judged["test"]["raw, last"]["groups"]] == [3, 4, 3]
    every = judged["test"]["raw, last"]["per_class"]
    assert every[4]["error"]["value"] == pytest.approx(wrong[test.labels == 4].mean())
    assert "groups" not in judged["validation"]["raw, last"]
    assert found["adaptive_ece"] == pytest.approx(
        judged["test"]["raw, last"]["metrics"]["adaptive_ece"]["value"], abs=1e-9
    )


def test_foreign_samples(studied: Path) -> None:
    known = scores(studied, "predictions/test-raw.npz")
    found = numbers(studied)["test"]["raw, last"]
    for name, file in (("noise", "study-0"), ("photos", "study-1")):
        foreign = scores(studied, f"probes/{file}.npz")
        assert len(foreign) == {"noise": 50, "photos": 6}[name]
        expected = pairs_won(-foreign.max(1), -known.max(1))
        assert found[f"auroc_{name}"] == pytest.approx(expected, abs=1e-6)
        entropies = [-(some * np.log(some)).sum(1) for some in (foreign, known)]
        assert found[f"auroc_entropy_{name}"] == pytest.approx(pairs_won(*entropies), abs=1e-6)
        assert found[f"confidence_{name}"] == pytest.approx(foreign.max(1).mean(), abs=1e-6)


def test_walks_people_and_the_rows_trained_on(studied: Path) -> None:
    found = numbers(studied)
    walk = json.loads((studied / "runs" / "plain-s0" / "probes" / "study-2.json").read_text())
    place = int(np.argmin(np.abs(np.array(walk["distances"]) - 10)))
    for key in ("accuracy", "confidence", "entropy"):
        values = [direction[place] for direction in walk["readings"]["as predicted"][key]]
        assert len(values) == 2
        assert found["test"]["raw, last"][f"hull_{key}_10"] == pytest.approx(np.mean(values))
    assert "hull_entropy_0.001" in found["test"]["raw, last"]
    assert "hull_entropy_3.16228" not in found["test"]["raw, last"]
    with np.load(studied / "votes.npz") as file:
        shares = file["counts"] / 50
    probs = scores(studied, "predictions/test-raw.npz")
    distance = np.abs(shares - probs).sum(1).mean() / 2
    assert found["test"]["raw, last"]["human_total_variation"] == pytest.approx(distance, abs=1e-6)
    assert 0 <= found["labeled"]["raw, last"]["error"] <= 1
    # Rescaled predictions, where a rescaler was kept, have measures of their own.
    for label, numbers_of in found["test"].items():
        if label.startswith("raw, last") and "test-time" not in label:
            assert {"auroc_photos", "hull_entropy_10", "human_divergence"} <= set(numbers_of)


def test_other_ways_of_predicting_with_their_proximity(studied: Path) -> None:
    found = numbers(studied)["test"]
    run = studied / "runs" / "plain-s0"
    usual = Predictions.load(run / "ways" / "study-0.npz")
    assert usual.features is not None
    assert usual.scores == pytest.approx(
        Predictions.load(run / "predictions" / "test-raw.npz").scores, abs=1e-5
    )
    for label, file in (
        ("raw, last", "study-0"),
        ("raw, last, test-time-2", "study-1"),
        ("raw, last, test-time-2, procal", "study-1-procal"),
    ):
        made = Predictions.load(run / "ways" / f"{file}.npz")
        wrong = made.scores.argmax(1) != made.labels
        assert found[label]["error"] == pytest.approx(wrong.mean())
        # PIECE splits the bins of the ECE.
        assert found[label]["piece"] >= found[label]["ece_15"] - 1e-9
        near = proximity(made.features, made.features, same=True)
        confidence = made.probs.max(1)
        assert found[label]["piece"] == pytest.approx(
            piece(confidence, ~wrong, near, bins=15).expected_error(), abs=1e-6
        )
    assert found["raw, last, test-time-2"]["nll"] != found["raw, last"]["nll"]


def test_evaluations_are_kept_for_curves(studied: Path) -> None:
    record = json.loads((studied / "rows" / "plain-s0.json").read_text())
    log = (studied / "runs" / "plain-s0" / "log.jsonl").read_text().splitlines()
    lines = [line for line in map(json.loads, log) if "split" in line]
    assert [line["nll"] for line in record["evaluations"]] == [line["nll"] for line in lines]
    assert record["evaluations"][-1]["step"] == 4


def test_the_table_shows_them(studied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(studied)
    head, _, line, *_ = table(read_study(studied / "some.toml")).splitlines()
    assert "error, tail % | ECE₁₅, head % | adaptive ECE % | AUROC, photos %" in head
    assert "AUROC by entropy, noise % | accuracy at 10 % | entropy at 10 | KL from people" in head
    found = numbers(studied)["test"]["raw, last"]
    assert f"| {100 * found['auroc_photos']:.2f} |" in line
    assert f"| {found['hull_entropy_10']:.3f} |" in line


def test_nothing_asked_nothing_added() -> None:
    metrics = {"adaptive_ece": {"value": 0.125}, "mce": {"value": 0.5}}
    judgement = {
        "numbers": {"test": {"raw, last": {"error": 0.5}}},
        "judged": {"test": {"raw, last": {"metrics": metrics}}},
    }
    found = with_further(judgement)
    assert found == {"test": {"raw, last": {"error": 0.5, "adaptive_ece": 0.125}}}
    measure(found, Path("nowhere"), probes=(), humans="", fit=False)
    assert math.isclose(found["test"]["raw, last"]["error"], 0.5)


def test_a_probe_that_fails_is_named(studied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIXCAL_DATA", str(studied))
    found = {"test": {"raw, last": {}}}
    with pytest.raises(BadInput, match="the probe '--foreign nothing' failed"):
        measure(
            found,
            studied / "runs" / "plain-s0",
            probes=["--foreign nothing"],
            humans="",
            fit=False,
        )
