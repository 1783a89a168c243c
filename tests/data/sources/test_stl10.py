"""STL-10: binary files, unpacked and in their archive, against the arrays they were made from."""

from pathlib import Path

import numpy as np
import pytest
import torch

from mixcal.core.errors import BadInput
from mixcal.data.mapped_pool import MappedPool
from mixcal.data.options import DataOptions
from mixcal.data.pool import MemoryPool
from mixcal.data.sources.stl10 import CLASSES, read_stl10
from mixcal.data.splits import split
from tests.support.published import options, random_images, reading, write_files, write_tar

TRAIN, TEST, UNLABELED = (random_images(n, 96, 96, 3, seed=n) for n in (4, 2, 5))
LABELS, ANSWERS = np.array([0, 9, 3, 3]), np.array([7, 1])


def files() -> dict[str, bytes]:
    def columns_first(images: np.ndarray) -> bytes:
        # Column-major order, one channel at a time.
        return images.transpose(0, 3, 2, 1).tobytes()

    return {
        "train_X.bin": columns_first(TRAIN),
        "train_y.bin": (LABELS + 1).astype(np.uint8).tobytes(),
        "test_X.bin": columns_first(TEST),
        "test_y.bin": (ANSWERS + 1).astype(np.uint8).tobytes(),
        "unlabeled_X.bin": columns_first(UNLABELED),
        "class_names.txt": "\n".join(CLASSES).encode(),
    }


@pytest.mark.parametrize("form", ["folder", "below", "archive", "little memory"])
def test_labeled_then_unlabeled_then_test(form: str, tmp_path: Path) -> None:
    there = {f"stl10_binary/{name}": data for name, data in files().items()}
    if form == "archive":
        write_tar(tmp_path / "stl10" / "stl10_binary.tar.gz", there)
    elif form == "below":
        write_files(tmp_path / "stl10", there)
    else:
        write_files(tmp_path / "stl10", files())
    megabytes = {"archive": 4000, "little memory": 0}.get(form, 100)
    source = read_stl10(options("stl10"), reading(tmp_path, memory_megabytes=megabytes))
    everything = np.concatenate([TRAIN, UNLABELED])
    index = np.array([8, 0, 3, 4, 0, 7, 1])
    found = source.train.take(index).permute(0, 2, 3, 1).numpy()
    assert np.array_equal(found, everything[index])
    assert source.train.labels.tolist() == [*LABELS, *[-1] * 5]
    assert len(set(source.train.ids.tolist())) == 9
    test = source.test.take(np.arange(2)).permute(0, 2, 3, 1).numpy()
    assert np.array_equal(test, TEST)
    assert source.test.labels.tolist() == ANSWERS.tolist()
    assert isinstance(source.train, MemoryPool if form in ("folder", "below") else MappedPool)


def test_its_own_unlabeled_part_and_the_labeled_images_are_the_unlabeled_pool(
    tmp_path: Path,
) -> None:
    write_files(tmp_path / "stl10", files())
    source = read_stl10(options("stl10"), reading(tmp_path))
    found = split(source, DataOptions(), seed=0)
    assert found.labeled.tolist() == [0, 1, 2, 3]
    assert found.unlabeled.tolist() == list(range(9))


def test_incomplete_sets(tmp_path: Path) -> None:
    def read(contents: dict[str, bytes], **more) -> None:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        write_files(folder / "stl10", contents)
        read_stl10(options("stl10"), reading(folder, **more))

    whole = files()
    without = {name: data for name, data in whole.items() if name != "unlabeled_X.bin"}
    for contents, message in (
        (without, r"no file unlabeled_X\.bin; .*mixcal data fetch stl10"),
        (whole | {"train_X.bin": whole["train_X.bin"][:-1]}, "no whole images"),
        (whole | {"test_y.bin": b"\1"}, r"test_X\.bin holds 2 images, test_y\.bin 1 labels"),
        (whole | {"train_y.bin": b"\1\2\3\0"}, "label -1 .* outside the 10 classes"),
        (whole | {"train_y.bin": b"\1\2\3\x0b"}, "label 10 .* outside the 10 classes"),
        (whole | {"unlabeled_X.bin": b""}, r"unlabeled_X\.bin is empty"),
    ):
        with pytest.raises(BadInput, match=message):
            read(contents)
    with pytest.raises(BadInput, match="mixcal data fetch stl10"):
        read_stl10(options("stl10"), reading(tmp_path / "nowhere"))
    write_tar(tmp_path / "stl10" / "stl10_binary.tar.gz", {"a/train_X.bin": b""})
    with pytest.raises(BadInput, match=r"memory_megabytes = 2048 .*unpack it"):
        read_stl10(options("stl10"), reading(tmp_path))


def test_a_mapped_pool_reads_from_disk_what_a_memory_pool_holds(tmp_path: Path) -> None:
    images = random_images(7, 3, 4, 5)
    images.tofile(tmp_path / "x.bin")
    mapped = np.memmap(tmp_path / "x.bin", np.uint8, "r").reshape(7, 3, 4, 5)
    pool = MappedPool((mapped[:3], mapped[3:]), np.arange(7), np.arange(7))
    index = np.array([6, 2, 3, 0, 6])
    pool.prefetch(index)
    assert torch.equal(pool.take(index), torch.from_numpy(images[index]))
