"""WebVision 1.0: file lists against the pictures they name."""

from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.sources.webvision import read_webvision
from tests.support.pictures import picture, save
from tests.support.published import options, reading

LISTS = {
    "train_filelist_google.txt": "google/q0001/a.jpg 0\ngoogle/q0002/b.jpg 1\n",
    "train_filelist_flickr.txt": "flickr/q0001/my cat.jpg 1\n",
    "val_filelist.txt": "val000001.jpg 1\nval000002.jpg 0\n",
    "synsets.txt": "n01440764 tench, Tinca tinca\nn01443537 goldfish\n",
}


def tree(root: Path, lists: dict[str, str] = LISTS) -> Path:
    (root / "info").mkdir(parents=True, exist_ok=True)
    for name, text in lists.items():
        (root / "info" / name).write_text(text)
    names = ("google/q0001/a.jpg", "google/q0002/b.jpg", "flickr/q0001/my cat.jpg")
    for number, name in enumerate((*names, "val000001.jpg", "val000002.jpg")):
        below = root if number < 3 else root / "val_images_256"
        save(below / name, picture(number, size=(30, 45)))
    return root


def test_google_and_flickr(tmp_path: Path) -> None:
    tree(tmp_path / "webvision")
    source = read_webvision(options("webvision", image_size=24), reading(tmp_path))
    assert source.classes == ("tench (n01440764)", "goldfish (n01443537)")
    assert source.train.ids.tolist() == [
        "google/q0001/a.jpg",
        "google/q0002/b.jpg",
        "flickr/q0001/my cat.jpg",
    ]
    assert source.train.labels.tolist() == [0, 1, 1]
    assert source.test.labels.tolist() == [1, 0]
    assert source.test.take(np.arange(2)).shape == (2, 3, 24, 24)
    assert not source.remarks
    google = read_webvision(options("webvision", variant="google"), reading(tmp_path))
    assert google.train.labels.tolist() == [0, 1]


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be fetched"):
        read_webvision(options("webvision"), reading(tmp_path))
    for name, text, message in (
        ("train_filelist_flickr.txt", "flickr/x.jpg\n", "line 1: 'flickr/x.jpg' is no path and"),
        ("val_filelist.txt", "val000001.jpg 2\n", "label 2, outside the 2 classes"),
    ):
        tree(tmp_path / "webvision", LISTS | {name: text})
        with pytest.raises(BadInput, match=message):
            read_webvision(options("webvision"), reading(tmp_path))
    (tree(tmp_path / "webvision") / "info" / "val_filelist.txt").unlink()
    with pytest.raises(BadInput, match=r"no info/val_filelist\.txt"):
        read_webvision(options("webvision"), reading(tmp_path))


def test_without_names_classes_are_numbers(tmp_path: Path) -> None:
    (tree(tmp_path / "webvision") / "info" / "synsets.txt").unlink()
    assert read_webvision(options("webvision"), reading(tmp_path)).classes == ("0", "1")
