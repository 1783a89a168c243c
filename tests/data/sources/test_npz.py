"""A person's .npz against the arrays in it, and one sentence for each mistake."""

from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.source import Source
from mixcal.data.sources.npz import read_npz
from tests.support.published import options, random_images, reading

IMAGES, LABELS = random_images(6, 8, 8, 3), np.array([0, 1, 1, 0, -1, -1])
GOOD = {"train_images": IMAGES, "train_labels": LABELS}
TEST = {"test_images": IMAGES[:2], "test_labels": np.array([1, 0])}


def read(folder: Path, arrays: dict[str, np.ndarray], **more) -> Source:
    np.savez(folder / "x.npz", **arrays)
    return read_npz(options("npz", path=str(folder / "x.npz"), **more), reading(folder))


def test_arrays_come_as_they_are(tmp_path: Path) -> None:
    validation = {"validation_images": IMAGES[2:4], "validation_labels": np.array([0, 1])}
    source = read(tmp_path, GOOD | TEST | validation | {"classes": np.array(["cat", "dog"])})
    assert source.classes == ("cat", "dog")
    assert source.train.labels.tolist() == LABELS.tolist()
    assert np.array_equal(source.train.take(np.arange(6)).permute(0, 2, 3, 1).numpy(), IMAGES)
    assert source.test.labels.tolist() == [1, 0]
    assert source.validation.labels.tolist() == [0, 1]
    assert source.own
    assert source.mean is None
    assert not source.remarks


def test_plain_names_and_a_second_file_of_tests(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", images=IMAGES[:2], labels=np.array([1, 0]))
    plain = {"images": IMAGES, "labels": LABELS}
    source = read(tmp_path, plain, test_path=str(tmp_path / "t.npz"), variant="cifar10-statistics")
    assert source.classes == ("0", "1")
    assert len(source.test) == 2
    assert source.std == (0.2470, 0.2435, 0.2616)
    assert any("no test data" in remark for remark in read(tmp_path, plain).remarks)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train_labels": np.array([0, 1, 1, 0, -1, 3])}, "class '2' has no labeled training"),
        (
            {"train_labels": np.array([0, 1, 1, 0, -1, 10**9])},
            "labels up to 1,000,000,000, but class '2' .* name them in `classes`",
        ),
        (
            {"classes": np.array(["cat", "dog"]), "train_labels": LABELS + 1},
            "outside the 2 classes",
        ),
        ({"train_labels": LABELS - 1}, "label -2 is no class; labels are 0, 1"),
        ({"train_labels": LABELS[:5]}, r"6 images and labels of shape \(5,\)"),
        ({"train_labels": LABELS.astype(float)}, "labels are float64"),
        ({"train_images": IMAGES / 255}, "images are float64; give whole numbers"),
        ({"train_images": IMAGES.transpose(0, 3, 1, 2)}, r"shape \(6, 3, 8, 8\)"),
        ({"test_images": IMAGES[:2, :4]}, "bring them to one shape"),
        ({"test_labels": np.array([1, -1])}, "label -1 .* outside the 2 classes"),
        ({"test_labels": np.array([1, 2])}, "label 2 .* outside the 2 classes"),
        ({"classes": np.array(["a", "a"])}, "same name"),
        ({"classes": np.array(["a", "b", "c"])}, "class 'c' has no labeled training image"),
        ({"classes": np.array(["a", "b"], dtype=object)}, "Python objects, which are never"),
        ({"train_labels": np.zeros(6, int)}, "there are 1 classes"),
    ],
)
def test_mistakes_get_one_sentence(change: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=message):
        read(tmp_path, GOOD | TEST | change)


def test_missing_arrays_and_files(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"x\.npz has no array 'train_labels'; it may hold"):
        read(tmp_path, {"train_images": IMAGES})
    with pytest.raises(BadInput, match="images and labels, both or neither"):
        read(tmp_path, GOOD | {"test_images": IMAGES})
    with pytest.raises(BadInput, match="with the label -1"):
        read(tmp_path, GOOD, unlabeled_path="elsewhere")
    with pytest.raises(BadInput, match="There is no file"):
        read_npz(options("npz", path=str(tmp_path / "y.npz")), reading(tmp_path))


def test_damaged_and_hostile_files(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, **GOOD)
    whole = path.read_bytes()
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (6, 8, 8, 3), }"
    huge = header.replace(b"(6, 8, 8, 3), }", b"(99999999999,)}")
    assert header in whole
    for contents in (whole[: len(whole) // 2], b"", b"PK no zip", whole.replace(header, huge)):
        path.write_bytes(contents)
        with pytest.raises(BadInput, match=r"x\.npz is damaged"):
            read_npz(options("npz", path=str(path)), reading(tmp_path))
    with open(path, "wb") as file:
        np.save(file, IMAGES)
    with pytest.raises(BadInput, match="is one array"):
        read_npz(options("npz", path=str(path)), reading(tmp_path))
