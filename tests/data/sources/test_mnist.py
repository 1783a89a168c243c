"""MNIST and Fashion-MNIST: IDX files against the arrays they were written from."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.sources.mnist import read_fashion_mnist, read_idx, read_mnist
from tests.support.published import options, random_images, reading, write_idx

TRAIN, TEST = random_images(6, 5, 4), random_images(3, 5, 4, seed=1)
LABELS, ANSWERS = np.array([3, 0, 9, 1, 1, 7], np.uint8), np.array([2, 2, 8], np.uint8)


def written(folder: Path, suffix: str, mark: str = "-") -> None:
    for name, array in (
        (f"train-images{mark}idx3-ubyte", TRAIN),
        (f"train-labels{mark}idx1-ubyte", LABELS),
        (f"t10k-images{mark}idx3-ubyte", TEST),
        (f"t10k-labels{mark}idx1-ubyte", ANSWERS),
    ):
        write_idx(folder / (name + suffix), array)


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_the_four_files_raw_and_packed(suffix: str, tmp_path: Path) -> None:
    written(tmp_path / "mnist", suffix)
    source = read_mnist(options("mnist"), reading(tmp_path))
    assert np.array_equal(source.train.take(np.arange(6))[:, 0].numpy(), TRAIN)
    assert np.array_equal(source.test.take(np.arange(3))[:, 0].numpy(), TEST)
    assert source.train.labels.tolist() == LABELS.tolist()
    assert source.test.labels.tolist() == ANSWERS.tolist()
    assert source.classes == tuple("0123456789")
    assert not source.flips
    assert (source.mean, source.std) == ((0.1307,), (0.3081,))
    assert source.train.ids[5] == "mnist/train/5"


def test_fashion_mnist_flips_and_lies_where_other_tools_put_it(tmp_path: Path) -> None:
    written(tmp_path / "FashionMNIST" / "raw", ".gz", mark=".")
    source = read_fashion_mnist(options("fashion-mnist"), reading(tmp_path))
    assert source.flips
    assert source.classes[9] == "ankle boot"
    # MNIST's files have the same names; they must not be taken for each other.
    with pytest.raises(BadInput, match="mixcal data fetch mnist"):
        read_mnist(options("mnist"), reading(tmp_path))


def test_damaged_and_dishonest_files(tmp_path: Path) -> None:
    written(tmp_path / "mnist", ".gz")
    path = tmp_path / "mnist" / "train-images-idx3-ubyte.gz"
    whole = path.read_bytes()
    for contents, message in (
        (whole[: len(whole) // 2], "is damaged"),
        (gzip.compress(gzip.decompress(whole)[:-7]), "ends after 113 of 120 bytes"),
        (gzip.compress(b"<html>not found</html>"), "no IDX file"),
        (b"<html>not found</html>", "is damaged"),
        (gzip.compress(bytes((0, 0, 8, 3)) + b"\xff" * 12 + bytes(50)), "says it holds"),
    ):
        path.write_bytes(contents)
        with pytest.raises(BadInput, match=message) as found:
            read_mnist(options("mnist"), reading(tmp_path))
        assert str(path) in str(found.value)


def test_labels_must_fit(tmp_path: Path) -> None:
    written(tmp_path / "mnist", "")
    write_idx(tmp_path / "mnist" / "train-labels-idx1-ubyte", LABELS[:5])
    with pytest.raises(BadInput, match="5 labels for 6 images"):
        read_mnist(options("mnist"), reading(tmp_path))
    write_idx(tmp_path / "mnist" / "train-labels-idx1-ubyte", LABELS + 5)
    with pytest.raises(BadInput, match=r"label 14 .* outside the 10 classes"):
        read_mnist(options("mnist"), reading(tmp_path))


def test_the_set_may_lie_there_as_arrays(tmp_path: Path) -> None:
    arrays = {"train_images": TRAIN, "train_labels": LABELS, "test_images": TEST}
    np.savez(tmp_path / "mnist.npz", **arrays, test_labels=ANSWERS)
    source = read_mnist(options("mnist"), reading(tmp_path))
    assert np.array_equal(source.train.take(np.arange(6))[:, 0].numpy(), TRAIN)
    np.savez(tmp_path / "mnist.npz", **arrays)
    with pytest.raises(BadInput, match=r"mnist\.npz has no array 'test_labels'"):
        read_mnist(options("mnist"), reading(tmp_path))


@pytest.mark.real_data
def test_complete_fashion_mnist() -> None:
    source = read_fashion_mnist(options("fashion-mnist"), reading(Path(os.environ["MIXCAL_DATA"])))
    assert (len(source.train), len(source.test)) == (60_000, 10_000)
    assert np.bincount(source.train.labels).tolist() == [6000] * 10
    assert np.bincount(source.test.labels).tolist() == [1000] * 10
    pixels = source.train.raw.float() / 255
    # As published, to the four digits they are given in.
    assert pixels.mean().item() == pytest.approx(source.mean[0], abs=5e-5)
    assert pixels.std().item() == pytest.approx(source.std[0], abs=5e-5)


def test_idx_files_of_other_types_are_refused(tmp_path: Path) -> None:
    path = write_idx(tmp_path / "x", TRAIN)
    path.write_bytes(bytes((0, 0, 13, 3)) + path.read_bytes()[4:])
    with pytest.raises(BadInput, match="no IDX file"):
        read_idx(path, 3)
