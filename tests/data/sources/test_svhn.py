"""SVHN: .mat files against the arrays they were written from."""

from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from mixcal.core.errors import BadInput
from mixcal.data.sources.svhn import read_svhn
from tests.support.mosaics import unpacked
from tests.support.published import options, random_images, reading

IMAGES = random_images(9, 32, 32, 3)
# As the files have it: the digit 0 is class 10.
CLASSES = np.array([1, 10, 3, 9, 10, 2, 4, 7, 5])


def write(folder: Path, part: str, rows: slice) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{part}_32x32.mat"
    contents = {"X": IMAGES[rows].transpose(1, 2, 3, 0), "y": CLASSES[rows, None].astype(np.uint8)}
    savemat(path, contents, do_compression=True)
    return path


def test_images_labels_and_the_extra_part(tmp_path: Path) -> None:
    write(tmp_path / "svhn", "train", slice(0, 4))
    write(tmp_path / "svhn", "test", slice(4, 6))
    source = read_svhn(options("svhn"), reading(tmp_path))
    found = source.train.take(np.arange(4)).permute(0, 2, 3, 1).numpy()
    assert np.array_equal(found, IMAGES[:4])
    assert source.train.labels.tolist() == [1, 0, 3, 9]
    assert source.test.labels.tolist() == [0, 2]
    assert not source.flips
    with pytest.raises(BadInput, match=r"extra_32x32\.mat\); get them with .* --variant extra"):
        read_svhn(options("svhn", variant="extra"), reading(tmp_path))
    write(tmp_path / "svhn", "extra", slice(6, 9))
    wide = options("svhn", variant="extra+svhn-benchmark-statistics")
    source = read_svhn(wide, reading(tmp_path))
    found = source.train.take(np.arange(7)).permute(0, 2, 3, 1).numpy()
    assert np.array_equal(found, IMAGES[[0, 1, 2, 3, 6, 7, 8]])
    assert source.train.labels.tolist() == [1, 0, 3, 9, 4, 7, 5]
    assert len(source.test) == 2
    assert source.std == (0.1751, 0.1771, 0.1744)


def test_damaged_files(tmp_path: Path) -> None:
    write(tmp_path / "svhn", "test", slice(4, 6))
    path = write(tmp_path / "svhn", "train", slice(0, 4))
    whole = path.read_bytes()
    for contents in (whole[: len(whole) // 2], b"", b"<html>" * 100, whole[:200] + whole[300:]):
        path.write_bytes(contents)
        with pytest.raises(BadInput, match=r"train_32x32\.mat"):
            read_svhn(options("svhn"), reading(tmp_path))
    savemat(path, {"X": IMAGES[:4], "y": CLASSES[:4]})
    with pytest.raises(BadInput, match="X has the shape"):
        read_svhn(options("svhn"), reading(tmp_path))
    savemat(path, {"other": IMAGES[:4]})
    with pytest.raises(BadInput, match="no variable X"):
        read_svhn(options("svhn"), reading(tmp_path))


def test_a_set_that_is_not_there_can_be_fetched(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="mixcal data fetch svhn"):
        read_svhn(options("svhn"), reading(tmp_path))


@pytest.mark.real_data
def test_the_part_of_svhn_that_is_here() -> None:
    source = read_svhn(options("svhn"), reading(unpacked()))
    assert (len(source.train), len(source.test)) == (10_000, 5_000)
    pixels = source.train.raw.float() / 255
    # A tenth of the images: means within three standard errors of an image's mean colour.
    assert np.allclose(pixels.mean((0, 2, 3)), source.mean, atol=0.006)
    assert np.allclose(pixels.std((0, 2, 3)), source.std, atol=0.006)
