"""`mixcal train --data PATH` on a person's own data, from their files to a judged run folder."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from mixcal.commands.own_data import own_data
from mixcal.core.errors import BadInput
from tests.support.command import QUICK, mixcal
from tests.support.pictures import class_folders
from tests.support.published import random_images

LITTLE = (*QUICK, "--set", "method.batch=4", "--set", "method.unlabeled_ratio=2")


def judged(folder: Path) -> dict:
    return json.loads((folder / "judgement.json").read_text())


def test_the_path_says_which_source_reads_it(tmp_path: Path) -> None:
    for name, kind in (("x.csv", "manifest"), ("x.parquet", "manifest"), ("x.npz", "npz")):
        (tmp_path / name).write_text("")
        assert own_data(str(tmp_path / name), asked="")[0] == f'method.data.source="{kind}"'
    assert own_data(str(tmp_path), asked="")[0] == 'method.data.source="folder"'
    with pytest.raises(BadInput, match=r"--data x\.txt: there is no such file or folder; give a"):
        own_data("x.txt", asked="--data x.txt")


def test_a_folder_without_test_data_reports_validation_only(tmp_path: Path) -> None:
    class_folders(tmp_path / "mine", {"a": 10, "b": 10, "unlabeled": 12})
    words = ("train", "--data", "mine", "--into", "run", *LITTLE)
    done = mixcal(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "There is no test data, so this run can report validation only" in done.stderr
    assert "validation, n = 4" in done.stdout
    assert "test, n" not in done.stdout
    found = judged(tmp_path / "run")
    assert list(found["judged"]) == ["validation"]
    # A fifth of each class's labels; pictures of all three folders are the unlabeled pool.
    assert found["label_budget"] == {
        "labeled": 16,
        "validation": 4,
        "validation_from": "labels",
        "total": 20,
    }
    splits = json.loads((tmp_path / "run" / "splits.json").read_text())
    assert splits["unlabeled"][-1][1] == 31
    assert any("no test data" in remark for remark in found["remarks"])


@pytest.mark.parametrize("kind", ["folder", "npz"])
def test_without_unlabeled_images_the_labeled_ones_are_the_pool(kind: str, tmp_path: Path) -> None:
    data = tmp_path / "mine"
    if kind == "folder":
        class_folders(data / "train", {"a": 8, "b": 8})
        class_folders(data / "test", {"a": 3, "b": 2})
    else:
        data = tmp_path / "mine.npz"
        arrays = {"train_images": random_images(16, 9, 9), "test_images": random_images(5, 9, 9)}
        np.savez(data, train_labels=np.arange(16) % 2, test_labels=np.arange(5) % 2, **arrays)
    done = mixcal("train", "--data", data, "--into", "run", *LITTLE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = judged(tmp_path / "run")
    assert set(found["judged"]) == {"validation", "test"}
    assert found["judged"]["test"]["averaged, last"]["n"] == 5
    assert found["label_budget"]["labeled"] == 12


@pytest.mark.slow
def test_streamed_pictures_give_the_run_that_pictures_in_memory_give(tmp_path: Path) -> None:
    class_folders(tmp_path / "mine" / "train", {"a": 8, "b": 8}, size=(30, 24))
    class_folders(tmp_path / "mine" / "test", {"a": 3, "b": 3}, size=(30, 24))
    shutil.copytree(tmp_path / "mine" / "test" / "a", tmp_path / "mine" / "unlabeled")
    results = []
    for name, megabytes, workers in (("held", 100, 1), ("streamed", 0, 3)):
        running = ("--set", f"running.memory_megabytes={megabytes}")
        running += ("--set", f"running.workers={workers}")
        done = mixcal("train", "--data", "mine", "--into", name, *LITTLE, *running, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        results.append(judged(tmp_path / name))
    assert results[0]["judged"] == results[1]["judged"]
    assert results[0]["splits"] == results[1]["splits"]


@pytest.mark.parametrize("kind", ["folder", "npz"])
def test_without_validation_and_test_data_a_run_ends_without_a_table(
    kind: str, tmp_path: Path
) -> None:
    data = tmp_path / "mine"
    if kind == "folder":
        class_folders(data, {"a": 4, "b": 4})
    else:
        data = tmp_path / "mine.npz"
        images = random_images(8, 8, 8, 3)
        labels = np.arange(8) % 2
        np.savez(
            data,
            train_images=images,
            train_labels=labels,
            test_images=images[:0],
            test_labels=labels[:0],
        )
    words = ("train", "--data", data, "--no-validation", "--into", "run", *LITTLE)
    done = mixcal(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "There is no test data" in done.stderr
    assert "Nothing was judged" in done.stdout
    assert "label budget: 8 (8 labeled + 0 validation, no validation)" in done.stdout
    assert "run folder: run" in done.stdout
    assert judged(tmp_path / "run")["judged"] == {}
    assert not (tmp_path / "run" / "report.html").exists()
    assert mixcal("train", "--resume", "run", cwd=tmp_path).returncode == 0


def test_an_algorithm_without_unlabeled_rows_is_refused_before_there_is_a_folder(
    tmp_path: Path,
) -> None:
    class_folders(tmp_path / "mine", {"a": 4, "b": 4})
    settings = ("--set", "method.data.labeled_in_unlabeled=false", "--no-validation")
    done = mixcal("train", "--data", "mine", *settings, "--into", "run", *LITTLE, cwd=tmp_path)
    assert done.returncode == 2
    assert "has no unlabeled images, from which" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()
