"""What `check` reports against sources whose faults are known."""

import json
from pathlib import Path

import numpy as np

from mixcal.data.check import check
from mixcal.data.sources.arrays import source_from_arrays
from mixcal.data.sources.folder import read_folder
from tests.support.pictures import class_folders
from tests.support.published import options, random_images, reading

IMAGES = random_images(10, 8, 6, 3)


def test_counts_shapes_and_balance() -> None:
    labels = np.array([0, 0, 0, 1, 1, 2, -1, -1, -1, -1])
    source = source_from_arrays(
        IMAGES,
        labels,
        test_images=random_images(3, 8, 6, 3, seed=1),
        test_labels=np.array([2, 2, 0]),
        classes=["a", "b", "c"],
    )
    seen = []
    report = check(source, progress=lambda *counts: seen.append(counts))
    assert report.shape == (3, 8, 6)
    assert report.images == {"train": 10, "test": 3}
    assert report.counts == {"train": (3, 2, 1), "test": (1, 0, 2)}
    assert report.unlabeled == 4
    assert report.mean == tuple((IMAGES / 255).mean((0, 1, 2)).round(4).tolist())
    assert report.std == tuple((IMAGES / 255).std((0, 1, 2)).round(4).tolist())
    assert not report.within
    assert not report.across
    assert seen[-1] == (13, 13)
    assert json.loads(json.dumps(report.to_json()))["unlabeled"] == 4


def test_equal_images_are_named_with_their_labels() -> None:
    train = IMAGES[[0, 1, 2, 3, 1, 5, 0, 1]]
    test = np.concatenate([IMAGES[[3, 7]], 255 - IMAGES[:1], IMAGES[[7]]])
    source = source_from_arrays(
        train,
        np.array([0, 1, 0, 1, 0, 0, 0, -1]),
        test_images=test,
        test_labels=np.array([1, 0, 0, 0]),
        classes=["cat", "dog"],
    )
    report = check(source)
    first, second = report.within["train"]
    assert (first.images, first.labels) == (("train: 0", "train: 6"), ("cat", "cat"))
    assert second.images == ("train: 1", "train: 4", "train: 7")
    assert second.labels == ("dog", "cat", "")
    assert second.contradictory
    assert not first.contradictory
    (alone,) = report.within["test"]
    assert alone.images == ("test: 1", "test: 3")
    (leak,) = report.across["train and test"]
    assert leak.images == ("train: 3", "test: 0")
    assert list(report.across) == ["train and test"]


def test_unreadable_pictures_are_counted_even_if_they_are_only_streamed(tmp_path: Path) -> None:
    class_folders(tmp_path / "train", {"a": 3, "b": 3})
    class_folders(tmp_path / "test", {"a": 2})
    source = read_folder(
        options("folder", path=str(tmp_path)), reading(tmp_path, memory_megabytes=0)
    )
    (tmp_path / "train" / "b" / "001.png").write_bytes(b"broken since")
    report = check(source)
    (line,) = report.unreadable
    assert line.startswith("train/b/001.png cannot be read")
    # The test pictures are copies of the first training ones.
    images = [duplicate.images for duplicate in report.across["train and test"]]
    assert images == [
        ("train: train/a/000.png", "test: test/a/000.png"),
        ("train: train/a/001.png", "test: test/a/001.png"),
    ]
