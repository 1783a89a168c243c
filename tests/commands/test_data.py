"""`mixcal data` as a person uses it, and every mistake with data: one sentence, exit code 2."""

import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from mixcal.cli import main
from mixcal.commands import data
from mixcal.data.published import Download, PublishedSet
from tests.support.command import mixcal
from tests.support.file_server import file_server
from tests.support.pictures import class_folders, picture, save
from tests.support.published import random_images, write_files, write_idx, write_tar


def said(capsys: pytest.CaptureFixture, *words: str | Path) -> str:
    """What a command that goes well prints."""
    code = main([str(word) for word in words])
    found = capsys.readouterr()
    assert (code, found.err) == (0, "")
    return found.out


def refused(capsys: pytest.CaptureFixture, *words: str | Path) -> str:
    """The one sentence of a command that goes wrong."""
    assert main([str(word) for word in words]) == 2
    found = capsys.readouterr()
    assert found.err.startswith("mixcal: ")
    assert found.err.count("\n") == 1
    return found.err


def test_list_says_what_is_here(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    write_files(tmp_path, {"svhn/train_32x32.mat": b"", "cifar10.npz": b""})
    (tmp_path / "mnist").mkdir()
    lines = said(capsys, "data", "list", "--folder", tmp_path).splitlines()
    here = {}
    for line in lines:
        cells = [cell.strip() for cell in line.split("│")]
        if len(cells) > 3 and cells[1] and cells[2]:
            here[cells[1]] = cells[2]
    assert {name for name, answer in here.items() if answer == "yes"} == {
        "digits",
        "svhn",
        "cifar10",
    }
    assert here["mnist"] == "no"
    assert {"stl10", "webvision", "imagenet", "tiny-imagenet"} <= set(here)


def test_list_imports_no_torch() -> None:
    program = "import sys, mixcal.cli as c; c.main(['data', 'list']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "'torch'" not in done.stdout
    assert "'rich'" in done.stdout


def test_fetch_from_a_mirror_and_unpack(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    contents = write_tar(tmp_path / "made.tar.gz", {"in/train_X.bin": b"123"}).read_bytes()
    known = PublishedSet(
        name="little",
        what="a little set",
        terms="free",
        layout="little.tar.gz",
        downloads=(
            Download(
                file="little.tar.gz",
                addresses=("http://127.0.0.1:9/never/little.tar.gz",),
                size=len(contents),
                sha256=hashlib.sha256(contents).hexdigest(),
                cited="the test",
            ),
        ),
        unpacked=("little.tar.gz",),
    )
    monkeypatch.setattr(data, "published", lambda name: known if name == "little" else None)
    with file_server() as server:
        server.files["deep/little.tar.gz"] = contents
        mirror = ("--mirror", server.address + "deep/", "--folder", tmp_path)
        out = said(capsys, "data", "fetch", "little", *mirror)
        assert "terms: free" in out
        assert "fetched; checked: SHA-256 as in the test" in out
        assert (tmp_path / "little" / "train_X.bin").read_bytes() == b"123"
        assert "was there" in said(capsys, "data", "fetch", "little", *mirror)
        server.files["deep/little.tar.gz"] = contents[:-1] + b"?"
        (tmp_path / "little" / "little.tar.gz").unlink()
        message = refused(capsys, "data", "fetch", "little", *mirror)
        assert "instead of" in message
        assert "has been removed" in message


def test_what_cannot_be_fetched(capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    assert "known: digits, mnist" in refused(capsys, "data", "fetch", "cifar11")
    assert "image-net.org" in refused(capsys, "data", "fetch", "imagenet")
    message = refused(capsys, "data", "fetch", "mnist", "--variant", "extra")
    assert "no variant 'extra'" in message


def test_check_reports_duplicates_and_unreadable_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    class_folders(tmp_path / "train", {"a": 3, "b": 3})
    class_folders(tmp_path / "test", {"a": 1})
    (tmp_path / "train" / "b" / "002.png").write_bytes(b"?")
    out = " ".join(said(capsys, "data", "check", tmp_path).split())
    assert "2 classes, images of 20 x 20 pixels, 3 channels" in out
    assert "1 contents are there 2 times across train and test" in out
    assert "train: train/a/000.png (a) = test: test/a/000.png (a)" in out
    assert "1 of 7 pictures cannot be read and are left out (like train/b/002.png" in out
    report = json.loads(said(capsys, "data", "check", tmp_path, "--json"))
    assert report["counts"] == {"train": [3, 2], "test": [1, 0]}
    assert "b/002.png cannot be read" in refused(capsys, "data", "check", tmp_path, "--strict")


def test_check_of_a_published_set(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    images = random_images(30, 4, 4)
    arrays = {"train_images": images[:24], "test_images": images[24:]}
    labels = {"train_labels": np.arange(24) % 10, "test_labels": np.arange(6)}
    np.savez(tmp_path / "mnist.npz", **arrays, **labels)
    out = said(capsys, "data", "check", "mnist", "--folder", tmp_path)
    assert "mnist: 10 classes, images of 4 x 4 pixels, 1 channel" in out
    assert "no two images are equal" in out


def broken_archive(folder: Path) -> tuple:
    path = write_tar(folder / "cifar10" / "cifar-10-binary.tar.gz", {"a/data_batch_1.bin": b"1"})
    path.write_bytes(path.read_bytes()[:60])
    return ("cifar10", "--folder", folder)


def hostile_archive(folder: Path) -> tuple:
    write_tar(folder / "cifar10" / "cifar-10-binary.tar.gz", {"../../data_batch_1.bin": b"1"})
    return ("cifar10", "--folder", folder)


def bomb(folder: Path) -> tuple:
    path = folder / "tiny-imagenet" / "tiny-imagenet-200.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tiny-imagenet-200/wnids.txt", b"n01443537")
    # The directory at the end of the archive, and the file's own header, say 4 GB.
    whole = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = whole.index(mark) + offset
        whole[at : at + 4] = (0xF0000000).to_bytes(4, "little")
    path.write_bytes(bytes(whole))
    return ("tiny-imagenet", "--folder", folder)


def lying_header(folder: Path) -> tuple:
    path = write_idx(folder / "mnist" / "train-images-idx3-ubyte", np.zeros((1, 2, 2), np.uint8))
    path.write_bytes(path.read_bytes()[:4] + b"\xff" * 12)
    return ("mnist", "--folder", folder)


def empty_class(folder: Path) -> tuple:
    class_folders(folder / "mine", {"a": 2, "b": 2})
    (folder / "mine" / "c").mkdir()
    return (folder / "mine",)


def corrupt(folder: Path) -> tuple:
    class_folders(folder / "mine", {"a": 2, "b": 2})
    path = folder / "mine" / "a" / "001.png"
    path.write_bytes(path.read_bytes()[:-30])
    return (folder / "mine", "--strict")


def no_image(folder: Path) -> tuple:
    class_folders(folder / "mine", {"a": 2, "b": 2})
    (folder / "mine" / "b" / "cat.jpg").write_text("a letter about cats")
    return (folder / "mine", "--strict")


def mixed(folder: Path) -> tuple:
    class_folders(folder / "mine", {"a": 2, "b": 2}, channels=1)
    save(folder / "mine" / "a" / "color.png", picture(5))
    return (folder / "mine",)


def outside(folder: Path) -> tuple:
    arrays = {"images": random_images(4, 5, 5), "labels": np.array([0, 1, 0, 7])}
    np.savez(folder / "mine.npz", **arrays, classes=np.array(["cat", "dog"]))
    return (folder / "mine.npz",)


def manifest(folder: Path, text: bytes) -> tuple:
    save(folder / "a.png", picture(1))
    save(folder / "b.png", picture(2))
    (folder / "mine.csv").write_bytes(text)
    return (folder / "mine.csv",)


MISTAKES = {
    "a data set that is not there": (
        lambda folder: ("cifar10", "--folder", folder),
        "mixcal data fetch cifar10",
    ),
    "a damaged archive": (broken_archive, "cifar-10-binary.tar.gz is damaged"),
    "a path that leads out": (hostile_archive, "leads outside"),
    "a bomb": (bomb, "unpacks to more than the 2 GB"),
    "a header that lies": (lying_header, "more than any set of its kind"),
    "an empty class folder": (empty_class, "c has no pictures; add some"),
    "a corrupt picture": (corrupt, "a/001.png cannot be read"),
    "a file that is no picture": (no_image, "b/cat.jpg cannot be read"),
    "mixed channels": (mixed, 'set method.data.variant to "gray" or "color"'),
    "a label outside the classes": (outside, "label 7 (at position 3) lies outside the 2 classes"),
    "a missing column": (
        lambda folder: manifest(folder, b"file,label\na.png,cat\n"),
        "no column 'label'|no column 'path'",
    ),
    "a path that is not there": (
        lambda folder: manifest(folder, b"path,label\na.png,cat\nc.png,dog\n"),
        "line 3: there is no file c.png",
    ),
    "an unknown encoding": (
        lambda folder: manifest(folder, "path,label\na.png,Käfer\nb.png,Biene\n".encode("cp1252")),
        "not UTF-8 text (byte 0xe4 in line 2)",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_get_one_sentence(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    make, message = MISTAKES[name]
    found = refused(capsys, "data", "check", *make(tmp_path))
    assert any(part in found for part in message.split("|")), found


def test_training_says_the_same_and_makes_no_run_folder(tmp_path: Path) -> None:
    class_folders(tmp_path / "mine", {"a": 4, "b": 2})
    for more, message in (
        (("--set", "method.data.labels_per_class=3"), "class 'b' has 2 labeled images, 3 were"),
        (("--set", "method.data.image_size=-4"), "image_size is -4"),
    ):
        words = ("train", "--data", tmp_path / "mine", "--into", tmp_path / "run", *more)
        done = mixcal(*words, cwd=tmp_path)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert done.stderr.startswith("mixcal: ")
        assert done.stderr.count("\n") == 1
        assert message in done.stderr
        assert not (tmp_path / "run").exists()
