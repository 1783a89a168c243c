"""What is read from a run folder against what was put into it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mixcal.core.errors import BadInput
from mixcal.judging.report.judged import Judged
from mixcal.judging.report.run_files import (
    judged_run,
    read_log,
    read_record,
    remarks_of,
    report_of_run,
)
from mixcal.judging.summary import summarized
from tests.support.judged import made_predictions


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("run")
    folder = root / "predictions"
    folder.mkdir(parents=True)
    made = made_predictions(80)
    made.save(folder / "test.npz")
    made.save(folder / "test-raw.npz")
    made.save(folder / "test-best.npz")
    replace(made, notes={"rescaler": "temperature"}).save(folder / "test-temperature.npz")
    replace(made, notes={"rescaler": "temperature"}).save(folder / "test-raw-temperature.npz")
    replace(made, split="validation").save(folder / "validation.npz")
    # Chosen on these samples, so not shown.
    replace(made, split="validation").save(folder / "validation-best.npz")
    # The numbers are there, so that none have to be computed.
    summary = summarized(made)
    summary["metrics"]["ece"]["value"] = 0.321
    labels = ("averaged, last", "raw, last", "best by validation")
    all_labels = [*labels, *(f"{label}, temperature" for label in labels)]
    judged = {split: dict.fromkeys(all_labels, summary) for split in ("test", "validation")}
    record = {"judged": judged, "seed": 3, "watched_test": True}
    (root / "judgement.json").write_text(json.dumps(record))
    return root


def test_predictions_come_in_the_order_of_interest(run: Path) -> None:
    assert [(one.split, one.title) for one in judged_run(run)] == [
        ("test", "averaged, last"),
        ("test", "averaged, last + temperature"),
        ("test", "raw, last"),
        ("test", "raw, last + temperature"),
        ("test", "best by validation"),
        ("validation", "averaged, last"),
    ]


def test_numbers_of_the_judgement_are_not_computed_again(run: Path) -> None:
    report = report_of_run(run)
    assert report.judged[0].value("ece") == 0.321
    assert report.facts["seed"] == "3"
    assert report.remarks == ["The test data were watched during training."]


def test_numbers_the_judgement_does_not_hold_are_computed() -> None:
    made = made_predictions(80)
    other = summarized(made, bins=10)
    assert Judged.of(made, name="", summary=other).summary["bins"] == 15


def test_remarks_say_what_became_of_the_rescaler() -> None:
    judgement = {"remarks": ["A."], "rescaling": {"raw, last": "did not help.", "best": ""}}
    assert remarks_of(judgement) == ["A.", "raw, last: did not help."]


def test_a_folder_without_predictions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no predictions"):
        judged_run(tmp_path)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("{")
    for read in (read_log, read_record):
        with pytest.raises(BadInput, match=r"x .*train the run anew"):
            read(tmp_path / "x")
    assert read_log(tmp_path / "nowhere") == []
    assert read_record(tmp_path / "nowhere") == {}
