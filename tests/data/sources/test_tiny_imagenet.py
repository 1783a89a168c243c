"""Tiny-ImageNet: the zip and the folder against the pictures they were made from."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mixcal.core.errors import BadInput
from mixcal.data.folder_pool import FolderPool
from mixcal.data.pool import MemoryPool
from mixcal.data.sources.tiny_imagenet import read_tiny_imagenet
from tests.support.pictures import picture
from tests.support.published import options, reading, write_files

ROOT = "tiny-imagenet-200/"
SYNSETS = ("n02124075", "n01443537")


def jpeg(seed: int, channels: int = 3) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture(seed, size=(64, 64), channels=channels)).save(file, "JPEG")
    return file.getvalue()


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).transpose(2, 0, 1)


def files() -> dict[str, bytes]:
    words = "n01443537\tgoldfish, Carassius auratus\nn02124075\tEgyptian cat\nn00000001\tentity\n"
    notes = "val_0.JPEG\tn02124075\t0\t32\t44\t62\nval_1.JPEG\tn01443537\t1\t2\t3\t4\n"
    found = {"wnids.txt": "\n".join(SYNSETS).encode(), "words.txt": words.encode()}
    for k, synset in enumerate(SYNSETS):
        found[f"train/{synset}/{synset}_boxes.txt"] = b"boxes"
        for number in range(3):
            # One gray picture, as the real set has some.
            data = jpeg(10 * k + number, channels=1 if (k, number) == (0, 1) else 3)
            found[f"train/{synset}/images/{synset}_{number}.JPEG"] = data
    found |= {"val/val_annotations.txt": notes.encode()}
    found |= {f"val/images/val_{number}.JPEG": jpeg(50 + number) for number in range(2)}
    found |= {"test/images/test_0.JPEG": jpeg(99)}
    return {ROOT + name: data for name, data in found.items()}


def zipped(path: Path, contents: dict[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)


@pytest.mark.parametrize("form", ["zip", "folder", "itself", "streamed zip"])
def test_pictures_labels_and_names(form: str, tmp_path: Path) -> None:
    contents = files()
    if "zip" in form:
        zipped(tmp_path / "tiny-imagenet" / "tiny-imagenet-200.zip", contents)
    elif form == "folder":
        write_files(tmp_path, contents)
    else:
        bare = {name.removeprefix(ROOT): data for name, data in contents.items()}
        write_files(tmp_path / "tiny-imagenet", bare)
    megabytes = 0 if form == "streamed zip" else 10
    source = read_tiny_imagenet(
        options("tiny-imagenet"), reading(tmp_path, memory_megabytes=megabytes)
    )
    assert source.classes == ("goldfish (n01443537)", "Egyptian cat (n02124075)")
    assert source.train.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert source.test.labels.tolist() == [1, 0]
    assert isinstance(source.train, MemoryPool if megabytes else FolderPool)
    raw = source.train.take(np.arange(6)).numpy()
    for row, identity in enumerate(source.train.ids):
        name = ROOT + str(identity).removeprefix(ROOT)
        assert np.array_equal(raw[row], pixels(contents[name]))
    tests = source.test.take(np.arange(2)).numpy()
    assert np.array_equal(tests[1], pixels(contents[f"{ROOT}val/images/val_1.JPEG"]))
    assert not source.remarks


def test_an_unreadable_picture_keeps_its_place(tmp_path: Path) -> None:
    contents = files() | {f"{ROOT}train/n01443537/images/n01443537_1.JPEG": b"broken"}
    write_files(tmp_path, contents)
    source = read_tiny_imagenet(options("tiny-imagenet"), reading(tmp_path))
    assert (source.train.take(np.array([1])) == 128).all()
    (remark,) = source.remarks
    assert "1 pictures cannot be read and are plain gray (like train/n01443537" in remark
    with pytest.raises(BadInput, match=r"n01443537_1\.JPEG cannot be read"):
        read_tiny_imagenet(options("tiny-imagenet"), reading(tmp_path, strict=True))


def test_incomplete_and_hostile_archives(tmp_path: Path) -> None:
    path = tmp_path / "tiny-imagenet" / "tiny-imagenet-200.zip"
    whole = files()
    notes = f"{ROOT}val/val_annotations.txt"
    for change, message in (
        ({f"{ROOT}../../evil.JPEG": b"x"}, "leads outside"),
        ({notes: b"val_0.JPEG\tn99999999\t0\n"}, "class 'n99999999', which wnids.txt has not"),
        ({f"{ROOT}train/n99999999/images/a.JPEG": b"x"}, "of no class in wnids.txt"),
    ):
        zipped(path, whole | change)
        with pytest.raises(BadInput, match=message):
            read_tiny_imagenet(options("tiny-imagenet"), reading(tmp_path))
    zipped(path, {name: data for name, data in whole.items() if name != notes})
    with pytest.raises(BadInput, match=r"no file .*val_annotations\.txt"):
        read_tiny_imagenet(options("tiny-imagenet"), reading(tmp_path))
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(BadInput, match=r"tiny-imagenet-200\.zip is damaged"):
        read_tiny_imagenet(options("tiny-imagenet"), reading(tmp_path))
    with pytest.raises(BadInput, match="mixcal data fetch tiny-imagenet"):
        read_tiny_imagenet(options("tiny-imagenet"), reading(tmp_path / "nowhere"))
