"""CIFAR in every published form against the arrays it was written from, and complete CIFAR-10."""

import io
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.source import Source
from mixcal.data.sources.cifar import read_cifar10, read_cifar100
from mixcal.data.sources.cifar_classes import CIFAR10, CIFAR100
from tests.support.mosaics import unpacked
from tests.support.published import (
    cifar_record,
    options,
    python2_pickle,
    random_images,
    reading,
    write_files,
    write_tar,
)

EACH = 3
IMAGES = random_images(6 * EACH, 32, 32, 3)
LABELS = np.arange(6 * EACH) * 7 % 10
FINE, COARSE = np.arange(6 * EACH) * 31 % 100, np.arange(6 * EACH) % 20
BATCHES = [*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]


def ten_binary() -> dict[str, bytes]:
    return {
        f"cifar-10-batches-bin/{name}.bin": cifar_record(
            IMAGES[at : at + EACH], LABELS[at : at + EACH]
        )
        for name, at in zip(BATCHES, range(0, 6 * EACH, EACH), strict=True)
    } | {"cifar-10-batches-bin/readme.html": b"<html>"}


def ten_python() -> dict[str, bytes]:
    return {
        f"cifar-10-batches-py/{name}": python2_pickle(
            IMAGES[at : at + EACH], {"labels": LABELS[at : at + EACH]}
        )
        for name, at in zip(BATCHES, range(0, 6 * EACH, EACH), strict=True)
    } | {"cifar-10-batches-py/batches.meta": b"never read"}


def hundred(kind: str) -> dict[str, bytes]:
    found = {}
    for name, part in (("train", slice(0, 15)), ("test", slice(15, 18))):
        if kind == "binary":
            contents = cifar_record(IMAGES[part], COARSE[part], FINE[part])
            found[f"cifar-100-binary/{name}.bin"] = contents
        else:
            lists = {"coarse_labels": COARSE[part], "fine_labels": FINE[part]}
            found[f"cifar-100-python/{name}"] = python2_pickle(IMAGES[part], lists)
    return found


def check(source: Source, labels: np.ndarray) -> None:
    train = source.train.take(np.arange(15)).permute(0, 2, 3, 1).numpy()
    test = source.test.take(np.arange(3)).permute(0, 2, 3, 1).numpy()
    assert np.array_equal(train, IMAGES[:15])
    assert np.array_equal(test, IMAGES[15:])
    assert source.train.labels.tolist() == labels[:15].tolist()
    assert source.test.labels.tolist() == labels[15:].tolist()
    assert source.flips


@pytest.mark.parametrize("place", ["cifar10", "."])
@pytest.mark.parametrize("form", ["binary", "python"])
@pytest.mark.parametrize("as_archive", [True, False])
def test_cifar10(place: str, form: str, as_archive: bool, tmp_path: Path) -> None:
    files = ten_binary() if form == "binary" else ten_python()
    if as_archive:
        write_tar(tmp_path / place / f"cifar-10-{form}.tar.gz", files)
    else:
        write_files(tmp_path / place, files)
    source = read_cifar10(options("cifar10"), reading(tmp_path))
    check(source, LABELS)
    assert source.classes == CIFAR10


@pytest.mark.parametrize("form", ["binary", "python"])
@pytest.mark.parametrize("as_archive", [True, False])
def test_cifar100_has_its_fine_labels(form: str, as_archive: bool, tmp_path: Path) -> None:
    if as_archive:
        write_tar(tmp_path / "cifar100" / f"cifar-100-{form}.tar.gz", hundred(form))
    else:
        write_files(tmp_path / "cifar100", hundred(form))
    source = read_cifar100(options("cifar100"), reading(tmp_path))
    check(source, FINE)
    assert source.classes == CIFAR100


def test_batches_may_lie_in_the_folder_itself(tmp_path: Path) -> None:
    for ending, files in ((".bin", ten_binary()), ("", ten_python())):
        folder = tmp_path / f"data{ending}"
        write_files(folder / "cifar10", {Path(name).name: data for name, data in files.items()})
        check(read_cifar10(options("cifar10"), reading(folder)), LABELS)


def test_the_pickles_of_the_tests_are_real_ones() -> None:
    contents = python2_pickle(IMAGES[:EACH], {"labels": LABELS[:EACH]})
    with warnings.catch_warnings():
        # NumPy moved the module that old pickles name.
        warnings.simplefilter("ignore")
        loaded = pickle.loads(contents, encoding="bytes")
    planes = IMAGES[:EACH].transpose(0, 3, 1, 2).reshape(EACH, -1)
    assert np.array_equal(loaded[b"data"], planes)
    assert loaded[b"labels"] == LABELS[:EACH].tolist()


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_pickles_written_by_python_3_are_read_too(protocol: int, tmp_path: Path) -> None:
    files = {}
    for name, at in zip(BATCHES, range(0, 6 * EACH, EACH), strict=True):
        planes = IMAGES[at : at + EACH].transpose(0, 3, 1, 2).tobytes()
        batch = {"labels": LABELS[at : at + EACH].tolist(), "data": planes}
        files[f"cifar-10-batches-py/{name}"] = pickle.dumps(batch, protocol=protocol)
    write_files(tmp_path / "cifar10", files)
    check(read_cifar10(options("cifar10"), reading(tmp_path)), LABELS)


class Hostile:
    """Unpickling this would run a command."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple:
        return Path.touch, (self.mark,)


def test_nothing_in_a_pickle_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "run"
    evil = pickle.dumps({"labels": [0], "data": Hostile(mark)}, protocol=2)
    files = ten_python() | {"cifar-10-batches-py/data_batch_3": evil}
    write_tar(tmp_path / "cifar10" / "cifar-10-python.tar.gz", files)
    with pytest.raises(BadInput, match="data_batch_3 is damaged"):
        read_cifar10(options("cifar10"), reading(tmp_path))
    assert not mark.exists()
    pickle.load(io.BytesIO(evil))
    assert mark.exists(), "the pickle of this test does nothing"


def test_damaged_batches(tmp_path: Path) -> None:
    path = tmp_path / "cifar10" / "cifar-10-binary.tar.gz"
    name = "cifar-10-batches-bin/data_batch_2.bin"
    write_tar(path, ten_binary() | {name: b"123"})
    with pytest.raises(BadInput, match=r"data_batch_2\.bin is damaged"):
        read_cifar10(options("cifar10"), reading(tmp_path))
    write_tar(path, {key: data for key, data in ten_binary().items() if key != name})
    with pytest.raises(BadInput, match=r"no file data_batch_2\.bin; .*mixcal data fetch cifar10"):
        read_cifar10(options("cifar10"), reading(tmp_path))
    outside = cifar_record(IMAGES[:EACH], [1, 10, 2])
    write_tar(path, ten_binary() | {name: outside})
    with pytest.raises(BadInput, match=r"label 10 .* outside the 10 classes"):
        read_cifar10(options("cifar10"), reading(tmp_path))
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(BadInput, match=r"cifar-10-binary\.tar\.gz is damaged"):
        read_cifar10(options("cifar10"), reading(tmp_path))


def test_a_set_that_is_not_there_can_be_fetched(tmp_path: Path) -> None:
    for read, name in ((read_cifar10, "cifar10"), (read_cifar100, "cifar100")):
        with pytest.raises(BadInput, match=f"mixcal data fetch {name}"):
            read(options(name), reading(tmp_path))


def test_statistics_can_be_chosen(tmp_path: Path) -> None:
    write_files(tmp_path / "cifar10", ten_binary())

    def read(variant: str) -> Source:
        return read_cifar10(options("cifar10", variant=variant), reading(tmp_path))

    assert read("").mean == (0.4914, 0.4822, 0.4465)
    assert read("imagenet-statistics").std == (0.229, 0.224, 0.225)
    with pytest.raises(BadInput, match="did you mean 'imagenet-statistics'"):
        read("imagenet-statistic")
    with pytest.raises(BadInput, match="have 1 channels, the pictures 3"):
        read("mnist-statistics")
    with pytest.raises(BadInput, match="name one"):
        read("svhn-statistics+imagenet-statistics")


@pytest.mark.real_data
def test_complete_cifar10() -> None:
    source = read_cifar10(options("cifar10"), reading(unpacked()))
    assert (len(source.train), len(source.test)) == (50_000, 10_000)
    assert np.bincount(source.train.labels).tolist() == [5000] * 10
    assert np.bincount(source.test.labels).tolist() == [1000] * 10
    # The first training image is a frog, then come two trucks, as in the published order.
    assert source.train.labels[:3].tolist() == [6, 9, 9]
    for channel in range(3):
        pixels = source.train.raw[:, channel].float() / 255
        assert pixels.mean().item() == pytest.approx(source.mean[channel], abs=5e-5)
        assert pixels.std().item() == pytest.approx(source.std[channel], abs=5e-5)
