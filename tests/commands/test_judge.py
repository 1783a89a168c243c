"""`mixcal judge` against plain sums over small predictions, in every format it reads."""

import json
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from mixcal.cli import main
from mixcal.core.margins import Margins
from mixcal.core.predictions import Predictions, softmax
from mixcal.core.pseudo_mistakes import PseudoMistakes

METRICS = [
    "accuracy",
    "error",
    "nll",
    "brier",
    "ece",
    "adaptive_ece",
    "classwise_ece",
    "mce",
    "rms_ce",
    "ace",
    "oe",
    "ue",
    "oe_weighted",
    "ue_weighted",
    "debiased_ece",
    "smooth_ece",
    "kde_ece",
    "ks",
    "aurc",
    "confidence_auroc",
    "mean_confidence",
]


def drawn(n: int = 300, classes: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    logits = 2 * generator.standard_normal((n, classes))
    probs = softmax(logits)
    labels = (probs.cumsum(1) < generator.random((n, 1))).sum(1).clip(0, classes - 1)
    return 1.5 * logits, labels


def judged(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict:
    assert main(["judge", *map(str, words), "--json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1, "one object in one line"
    return json.loads(lines[0])


def ece(probs: np.ndarray, labels: np.ndarray, bins: int = 15) -> float:
    confidence, right = probs.max(1), probs.argmax(1) == labels
    place = np.ceil(confidence * bins).astype(int) - 1
    total = 0.0
    for m in range(bins):
        inside = place == m
        if inside.any():
            total += abs(confidence[inside].mean() - right[inside].mean()) * inside.mean()
    return total


def test_json_holds_every_metric_with_an_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logits, labels = drawn()
    np.savez(tmp_path / "p.npz", logits=logits, labels=labels)
    found = judged(capsys, tmp_path / "p.npz")
    assert (found["n"], found["classes"], found["bins"]) == (300, 4, 15)
    assert list(found["metrics"]) == METRICS
    for name, numbers in found["metrics"].items():
        assert set(numbers) == {"value", "low", "high"}, name
        assert numbers["low"] <= numbers["value"] <= numbers["high"], name
        assert numbers["low"] < numbers["high"], name
    probs = softmax(logits)
    own = probs[np.arange(300), labels]
    value = {name: numbers["value"] for name, numbers in found["metrics"].items()}
    assert value["ece"] == pytest.approx(ece(probs, labels), rel=1e-12)
    assert value["nll"] == pytest.approx(-np.log(own).mean(), rel=1e-12)
    assert value["accuracy"] == (probs.argmax(1) == labels).mean()
    assert value["oe"] + value["ue"] == pytest.approx(value["ece"], rel=1e-12)


def test_every_format_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logits, labels = drawn()
    probs = softmax(logits)
    np.savez(tmp_path / "p.npz", probs=probs, labels=labels)
    names = ["cat", "dog", "eel", "fly"]
    columns = {"id": np.arange(300), "label": np.array(names)[labels]}
    table = pyarrow.table(columns | {f"prob_{n}": probs[:, k] for k, n in enumerate(names)})
    parquet.write_table(table, tmp_path / "p.parquet")
    lists = pyarrow.table({"labels": labels, "probs": list(probs)})
    parquet.write_table(lists, tmp_path / "lists.parquet")
    rows = [
        ",".join([str(i), str(labels[i]), *(repr(float(p)) for p in probs[i])]) for i in range(300)
    ]
    (tmp_path / "p.csv").write_text("\n".join(["id,label,a,b,c,d", *rows]))
    expected = judged(capsys, tmp_path / "p.npz")
    for words in (("p.parquet",), ("lists.parquet",), ("p.csv", "--probs")):
        found = judged(capsys, tmp_path / words[0], *words[1:])
        assert found["metrics"] == expected["metrics"], words


def test_options_change_bins_ends_level_and_convention(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Confidences on the edges of five bins; by hand: (lo, hi] 0.32, [lo, hi) 0.08.
    confidence = np.array([0.2, 0.4, 0.6, 0.8, 1.0])
    rest = (1 - confidence) / 5
    probs = np.column_stack([confidence, *([rest] * 5)])
    np.savez(tmp_path / "p.npz", probs=probs, labels=np.array([5, 0, 5, 0, 0]))
    path = tmp_path / "p.npz"
    right = judged(capsys, path, "--bins", "5")
    left = judged(capsys, path, "--bins", "5", "--closed", "left")
    assert right["metrics"]["ece"]["value"] == pytest.approx(0.32)
    assert left["metrics"]["ece"]["value"] == pytest.approx(0.08)
    assert judged(capsys, path, "--bins", "5", "--like", "netcal")["metrics"] == left["metrics"]
    assert judged(capsys, path, "--like", "calibratemix")["bins"] == 10
    narrow = judged(capsys, path, "--bins", "5", "--level", "0.5")["metrics"]["accuracy"]
    wide = right["metrics"]["accuracy"]
    assert wide["low"] < narrow["low"] < narrow["high"] < wide["high"]


def test_a_run_folder_is_judged_from_all_its_predictions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run" / "predictions"
    folder.mkdir(parents=True)
    for seed, name in enumerate(("validation", "test-raw", "test", "test-best")):
        logits, labels = drawn(seed=seed)
        Predictions.of(labels, logits=logits, split=name.partition("-")[0]).save(
            folder / f"{name}.npz"
        )
    Margins(
        ids=np.array(["a", "b", "c"]),
        split=np.array(["labeled", "labeled", "unlabeled"]),
        label=np.array([0, 1, 2]),
        margin=np.array([2.0, -1.0, 0.5], dtype=np.float32),
        visits=np.array([4, 5, 6]),
        classes=("cat", "dog", "eel", "fly"),
    ).save(tmp_path / "run" / "margins.npz")
    ids, position = np.array(["x", "y", "z"]), np.array([7, 3, 5])
    pseudo = Predictions.of(
        np.array([0, 1, 2]),
        probs=np.array([[0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.8, 0.0], [0.2, 0.1, 0.7, 0.0]]),
        classes=("cat", "dog", "eel", "fly"),
        ids=ids,
    )
    PseudoMistakes.of(pseudo, position).save(tmp_path / "run" / "pseudo-mistakes.npz")
    sheet = tmp_path / "sheet.html"
    found = judged(capsys, tmp_path / "run", "--sheet", sheet)
    assert found["likely_mislabeled"] == {
        "n": 2,
        "negative": 1,
        "samples": [{"id": "b", "label": "dog", "margin": -1.0, "visits": 5}],
    }
    wrong = found["wrong_pseudo_labels"]
    assert (wrong["n"], wrong["wrong"]) == (3, 2)
    assert [row["id"] for row in wrong["most_confident"]] == ["y", "x"]
    page = sheet.read_text()
    for word in ("Hardest labeled samples", "margin -1.00", "Most confident wrong pseudo-labels"):
        assert word in page
    judged(capsys, tmp_path / "run", "--sheet", sheet, "--hardest", "1")
    assert sheet.read_text().count("margin -1.00") == 1
    assert "margin 2.00" in page
    assert "margin 2.00" not in sheet.read_text()
    assert list(found["predictions"]) == ["test", "test-raw", "validation", "test-best"]
    assert found["metrics"] == found["predictions"]["test"]["metrics"]
    assert found["predictions"]["test"]["metrics"] != found["predictions"]["test-raw"]["metrics"]
    assert [row["id"] for row in found["hardest"]["labeled"]] == ["b", "a"]
    assert main(["judge", str(tmp_path / "run")]) == 0
    shown = capsys.readouterr().out
    for word in (
        "test-best",
        "hardest labeled",
        "dog",
        "ECE",
        "95 % interval",
        "likely mislabeled: 1 of 2 labeled samples",
        "2 of 3",
    ):
        assert word in shown


def test_people_foreign_samples_long_tails_and_features(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logits, labels = drawn()
    generator = np.random.default_rng(1)
    np.savez(
        tmp_path / "p.npz",
        logits=logits,
        labels=labels,
        class_counts=np.array([500, 100, 20, 4]),
        features=generator.standard_normal((300, 8)),
    )
    probs = softmax(logits)
    votes = np.stack([generator.multinomial(50, row) for row in probs])
    np.savez(tmp_path / "people.npz", counts=votes)
    np.savez(tmp_path / "far.npz", logits=logits / 4)
    found = judged(
        capsys,
        tmp_path / "p.npz",
        *("--humans", tmp_path / "people.npz", "--ood", tmp_path / "far.npz"),
        *("--per-class", "--cuts", "1,2", "--top-k", "2"),
    )["further"]
    # People drawn from the predictions themselves: nothing but the noise of fifty votes.
    assert found["humans"]["calibration_error"]["value"] < 0.02
    assert found["humans"]["divergence"]["value"] < 0.1
    scores = found["ood"][str(tmp_path / "far.npz")]
    assert set(scores) == {"max_softmax", "entropy", "energy", "max_logit"}
    assert all(0.6 < score["auroc"]["value"] <= 1 for score in scores.values())
    assert [group["name"] for group in found["groups"]] == ["head", "medium", "tail"]
    head = labels == 0
    error = 1 - (logits.argmax(1) == labels)[head].mean()
    assert found["groups"][0]["error"]["value"] == pytest.approx(error)
    assert found["groups"][0]["n"] == head.sum()
    assert found["per_class"][0]["error"] == found["groups"][0]["error"]
    two_best = np.sort(logits, axis=1)[:, -2]
    own = logits[np.arange(300), labels]
    assert found["top_2_accuracy"]["value"] == pytest.approx((own >= two_best).mean())
    for variant in ("paper", "official"):
        part = found["piece"][variant]
        assert 0 <= part["low"] <= part["value"] <= part["high"]
        assert part["value"] > 0
    for name, part in found["brier_parts"].items():
        assert part["low"] < part["value"] < part["high"], name
    assert main(["judge", str(tmp_path / "p.npz"), "--humans", str(tmp_path / "people.npz")]) == 0
    assert "what people say" in capsys.readouterr().out
