"""Folders of pictures: what is read against what was written, and one sentence for each mistake."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mixcal.core.errors import BadInput
from mixcal.data.folder_pool import FolderPool
from mixcal.data.options import DataOptions
from mixcal.data.source import Source
from mixcal.data.sources.folder import read_folder
from mixcal.data.splits import split
from tests.support.pictures import class_folders, picture, save
from tests.support.published import options, reading


def read(root: Path, *, strict: bool = False, memory: int = 10, **more) -> Source:
    given = reading(Path(), strict=strict, memory_megabytes=memory)
    return read_folder(options("folder", path=str(root), **more), given)


def test_class_folders_and_unlabeled_ones(tmp_path: Path) -> None:
    class_folders(tmp_path, {"cats": 3, "dogs": 2, "unlabeled": 4})
    save(tmp_path / "dogs" / "puppies" / "small.PNG", picture(77), format="PNG")
    source = read(tmp_path)
    assert source.classes == ("cats", "dogs")
    assert source.train.labels.tolist() == [0, 0, 0, 1, 1, 1, -1, -1, -1, -1]
    assert source.train.ids[5] == "dogs/puppies/small.PNG"
    raw = source.train.take(np.array([5, 0])).permute(0, 2, 3, 1).numpy()
    assert np.array_equal(raw[0], picture(77))
    assert np.array_equal(raw[1], picture(0))
    assert source.own
    assert source.test is None
    assert any("no test data" in remark for remark in source.remarks)


def test_splits_in_folders(tmp_path: Path) -> None:
    class_folders(tmp_path / "train", {"10": 2, "9": 2})
    class_folders(tmp_path / "val", {"9": 1})
    class_folders(tmp_path / "test", {"10": 3, "9": 1})
    class_folders(tmp_path, {"unlabeled": 2})
    source = read(tmp_path)
    # Numbers are ordered as numbers.
    assert source.classes == ("9", "10")
    assert source.train.labels.tolist() == [0, 0, 1, 1, -1, -1]
    assert source.validation.labels.tolist() == [0]
    assert source.test.labels.tolist() == [0, 1, 1, 1]
    assert source.train.ids[2] == "train/10/000.png"
    assert source.train.ids[4] == "unlabeled/000.png"
    assert not source.remarks


def test_other_folders_can_be_named(tmp_path: Path) -> None:
    class_folders(tmp_path / "mine", {"a": 2, "b": 2})
    class_folders(tmp_path, {"pile": 3})
    class_folders(tmp_path / "held", {"a": 1, "b": 1})
    source = read(
        tmp_path / "mine",
        unlabeled_path=str(tmp_path / "pile"),
        test_path=str(tmp_path / "held"),
    )
    assert source.train.labels.tolist() == [0, 0, 1, 1, -1, -1, -1]
    assert source.test.labels.tolist() == [0, 1]
    assert source.train.ids[-1] == str(tmp_path / "pile" / "002.png")
    assert source.train.take(np.array([6])).shape == (1, 3, 20, 20)


def test_sizes(tmp_path: Path) -> None:
    class_folders(tmp_path, {"a": 2, "b": 2}, size=(30, 40))
    assert read(tmp_path).train.take(np.arange(2)).shape == (2, 3, 30, 40)
    assert read(tmp_path, image_size=12).train.take(np.arange(2)).shape == (2, 3, 12, 12)
    save(tmp_path / "a" / "other.png", picture(5, size=(31, 40)))
    source = read(tmp_path)
    assert source.train.take(np.arange(2)).shape == (2, 3, 64, 64)
    remark = next(remark for remark in source.remarks if "64 x 64" in remark)
    assert "30 x 40 to 31 x 40" in remark
    assert "method.data.image_size" in remark
    class_folders(tmp_path / "large", {"a": 2, "b": 2}, size=(97, 97))
    assert read(tmp_path / "large").train.take(np.arange(2)).shape == (2, 3, 64, 64)
    with pytest.raises(BadInput, match="image_size is -1"):
        read(tmp_path, image_size=-1)


def test_gray_pictures_stay_gray(tmp_path: Path) -> None:
    class_folders(tmp_path, {"a": 2, "b": 2}, channels=1)
    assert read(tmp_path).train.take(np.arange(1)).shape == (1, 1, 20, 20)


def test_few_gray_pictures_among_colour_are_read_as_colour(tmp_path: Path) -> None:
    class_folders(tmp_path, {"a": 3, "b": 3})
    save(tmp_path / "a" / "gray.png", picture(9, channels=1))
    source = read(tmp_path)
    at = source.train.ids.tolist().index("a/gray.png")
    raw = source.train.take(np.array([at]))[0]
    assert (raw == raw[:1]).all()
    assert any("1 gray pictures among 7" in r and "a/gray.png" in r for r in source.remarks)


def test_few_colours_among_gray_are_a_question(tmp_path: Path) -> None:
    class_folders(tmp_path, {"a": 3, "b": 3}, channels=1)
    save(tmp_path / "b" / "red.png", picture(9))
    with pytest.raises(BadInput, match=r"6 pictures are gray and 1 have colour \(like b/red.png\)"):
        read(tmp_path)
    assert read(tmp_path, variant="gray").train.take(np.arange(1)).shape[1] == 1
    assert read(tmp_path, variant="color").train.take(np.arange(1)).shape[1] == 3
    with pytest.raises(BadInput, match="choose one"):
        read(tmp_path, variant="gray+color")


@pytest.mark.parametrize("memory", [0, 10])
def test_corrupt_pictures_are_counted_and_left_out(memory: int, tmp_path: Path) -> None:
    class_folders(tmp_path, {"a": 4, "b": 4})
    (tmp_path / "a" / "001.png").write_bytes(b"not a picture")
    cut = (tmp_path / "b" / "002.png").read_bytes()
    (tmp_path / "b" / "002.png").write_bytes(cut[: len(cut) // 2])
    middle = bytearray((tmp_path / "b" / "003.png").read_bytes())
    middle[len(middle) // 2] ^= 0xFF
    (tmp_path / "b" / "003.png").write_bytes(bytes(middle))
    source = read(tmp_path, memory=memory)
    assert isinstance(source.train, FolderPool) == (memory == 0)
    assert source.train.ids.tolist() == [
        "a/000.png",
        "a/002.png",
        "a/003.png",
        "b/000.png",
        "b/001.png",
    ]
    assert source.train.labels.tolist() == [0, 0, 0, 1, 1]
    raw = source.train.take(np.array([1])).permute(0, 2, 3, 1).numpy()
    assert np.array_equal(raw[0], picture(2))
    assert "3 of 8 pictures cannot be read and are left out (like a/001.png:" in source.remarks[0]
    with pytest.raises(BadInput, match=r"a/001\.png cannot be read as a picture .*--strict"):
        read(tmp_path, strict=True, memory=memory)


def test_workers_and_memory_change_nothing(tmp_path: Path) -> None:
    class_folders(tmp_path, {"a": 20, "b": 20}, size=(120, 90))
    given = options("folder", path=str(tmp_path))
    index = np.random.default_rng(0).permutation(40)
    one = read_folder(given, reading(Path(), workers=1)).train.take(index)
    for workers, memory in ((4, 10), (4, 0), (1, 0)):
        other = read_folder(given, reading(Path(), workers=workers, memory_megabytes=memory))
        assert np.array_equal(other.train.take(index), one)


def test_pictures_are_turned_upright_before_their_sizes_are_compared(tmp_path: Path) -> None:
    class_folders(tmp_path, {"a": 1, "b": 1}, size=(30, 40))
    exif = Image.Exif()
    exif[0x0112] = 6
    upright = picture(3, size=(30, 40))
    save(tmp_path / "a" / "turned.png", np.rot90(upright).copy(), exif=exif)
    source = read(tmp_path)
    raw = source.train.take(np.array([1])).permute(0, 2, 3, 1).numpy()
    assert np.array_equal(raw[0], upright)


def test_what_is_no_picture_by_its_name_is_passed_over(tmp_path: Path) -> None:
    class_folders(tmp_path, {"a": 2, "b": 2})
    for name in ("a/notes.txt", "a/.DS_Store", "b/Thumbs.db", "__MACOSX/a/x.png", ".git/x.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("no picture")
    source = read(tmp_path)
    assert len(source.train) == 4
    assert any("1 files are no pictures" in r and "a/notes.txt" in r for r in source.remarks)
    with pytest.raises(BadInput, match=r"notes\.txt is no picture; remove it"):
        read(tmp_path, strict=True)


def test_mistakes_get_one_sentence(tmp_path: Path) -> None:
    def fails(message: str, root: Path = tmp_path, **more) -> None:
        with pytest.raises(BadInput, match=message):
            read(root, **more)

    fails("nowhere is no folder", tmp_path / "nowhere")
    fails("has no class folders")
    class_folders(tmp_path, {"a": 3})
    fails("has 1 classes .* needs two")
    (tmp_path / "b").mkdir()
    fails("b has no pictures; add some or remove the folder")
    class_folders(tmp_path, {"b": 3, "test": 1})
    fails("has a folder test but none called train")
    (tmp_path / "test" / "000.png").unlink()
    (tmp_path / "test").rmdir()
    read(tmp_path)
    (tmp_path / "unlabeled").mkdir()
    fails("unlabeled has no pictures")
    (tmp_path / "unlabeled").rmdir()
    for name in ("a", "b"):
        for path in (tmp_path / name).iterdir():
            path.write_bytes(b"")
    fails(r"None of the pictures can be read .*a/000\.png")
    save(tmp_path / "a" / "good.png", picture(1))
    fails("class 'b' has no labeled training picture that can be read")


def test_a_corrupt_picture_in_the_middle_of_a_file_is_refused_if_strict(tmp_path: Path) -> None:
    class_folders(tmp_path, {"a": 2, "b": 2})
    whole = bytearray((tmp_path / "b" / "000.png").read_bytes())
    whole[len(whole) // 2] ^= 0xFF
    (tmp_path / "b" / "000.png").write_bytes(bytes(whole))
    for memory in (0, 10):
        with pytest.raises(BadInput, match=r"b/000\.png cannot be read as a picture"):
            read(tmp_path, strict=True, memory=memory)


def test_a_label_outside_the_classes(tmp_path: Path) -> None:
    class_folders(tmp_path / "train", {"a": 2, "b": 2})
    class_folders(tmp_path / "test", {"a": 1, "zebra": 1})
    with pytest.raises(BadInput, match=r"zebra is of no class of the training data \(a, b\)"):
        read(tmp_path)


def test_fewer_pictures_than_labels_asked_for(tmp_path: Path) -> None:
    class_folders(tmp_path, {"a": 5, "b": 2})
    with pytest.raises(BadInput, match="class 'b' has 2 labeled images, 3 were asked for"):
        split(read(tmp_path), DataOptions(labels_per_class=3, validation="none"), seed=0)


def test_statistics_can_be_chosen(tmp_path: Path) -> None:
    class_folders(tmp_path, {"a": 2, "b": 2})
    assert read(tmp_path).mean is None
    assert read(tmp_path, variant="imagenet-statistics").mean == (0.485, 0.456, 0.406)
