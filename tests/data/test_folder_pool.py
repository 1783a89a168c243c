"""Pools of picture files against the pictures decoded one by one."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from io import BufferedIOBase, BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch

from mixcal.core.errors import BadInput
from mixcal.data.archives import FolderStore
from mixcal.data.folder_pool import FolderPool, fitting, in_memory, most_kept, undecodable
from mixcal.data.pool import Pool
from mixcal.data.reading import Reading
from tests.support.pictures import picture, save

COUNT = 40


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(COUNT):
        save(tmp_path / f"{number}.png", picture(number, size=(12, 12)))
    return tmp_path


def pool(folder: Path, *, workers: int = 2, **more) -> FolderPool:
    given = {
        "store": FolderStore(folder),
        "ids": np.array([f"{number}.png" for number in range(COUNT)]),
        "labels": np.arange(COUNT) % 3,
        "shape": (3, 12, 12),
        "workers": ThreadPoolExecutor(workers),
    }
    return FolderPool(**(given | more))


def expected(index) -> torch.Tensor:
    rows = [torch.from_numpy(picture(int(i), size=(12, 12)).copy()) for i in index]
    return torch.stack(rows).permute(0, 3, 1, 2)


@pytest.mark.parametrize("workers", [1, 3])
def test_positions_give_their_pictures_in_any_order(folder: Path, workers: int) -> None:
    found = pool(folder, workers=workers)
    assert isinstance(found, Pool)
    index = np.random.default_rng(0).integers(COUNT, size=60)
    for _ in range(2):
        found.prefetch(index[20:])
        assert torch.equal(found.take(index), expected(index))


def test_a_pool_that_keeps_little_gives_the_same(folder: Path) -> None:
    found = pool(folder, most_kept=3)
    index = np.array([5, 1, 5, 9, 30, 1, 2, 5])
    assert torch.equal(found.take(index), expected(index))
    assert len(found._kept) == 3


class Counting:
    """A store that counts what it opens, and may wait for permission."""

    def __init__(self, store: FolderStore) -> None:
        self.store, self.opened, self.allowed = store, [], threading.Event()

    def open(self, name: str) -> BufferedIOBase:
        self.allowed.wait(10)
        self.opened.append(name)
        return self.store.open(name)


def test_prefetched_pictures_are_decoded_once_and_meanwhile(folder: Path) -> None:
    store = Counting(FolderStore(folder))
    found = pool(folder, store=store)
    began = time.monotonic()
    found.prefetch(np.arange(6))
    assert time.monotonic() - began < 5, "prefetch must not wait"
    store.allowed.set()
    assert torch.equal(found.take(np.arange(6)), expected(range(6)))
    found.take(np.arange(6))
    assert sorted(store.opened) == [f"{number}.png" for number in range(6)]


def test_a_damaged_picture_is_gray_and_named_once(folder: Path) -> None:
    (folder / "7.png").write_bytes(b"nothing")
    (folder / "8.png").unlink()
    found = pool(folder)
    with pytest.warns(UserWarning, match=r"7\.png cannot be read .*plain gray"):
        raw = found.take(np.array([6, 7]))
    assert torch.equal(raw[:1], expected([6]))
    assert (raw[1] == 128).all()
    assert torch.equal(found.take(np.array([7, 6])), raw.flip(0))
    assert set(undecodable(found)) == {7, 8}
    with pytest.raises(BadInput, match=r"8\.png cannot be read .*--strict"):
        pool(folder, strict=True).take(np.array([8]))


def test_in_memory_is_the_same_as_streamed(folder: Path) -> None:
    (folder / "3.png").write_bytes(b"")
    held, failures = in_memory(pool(folder))
    assert list(failures) == [3]
    intact = np.delete(np.arange(COUNT), 3)
    assert torch.equal(held.take(intact), expected(intact))
    assert (held.raw[3] == 128).all()
    assert held.ids.tolist() == pool(folder).ids.tolist()


def test_what_fits_in_memory() -> None:
    reading = Reading(folder=Path(), memory_megabytes=1)
    assert fitting(1024, (1, 32, 32), reading)
    assert not fitting(1025, (1, 32, 32), reading)
    # Enough for the steps ahead, however little memory is granted.
    assert most_kept((1, 16, 16), reading) == 4096
    assert most_kept((3, 224, 224), reading) == 2048


def test_a_store_may_hold_files_in_memory() -> None:
    class Held:
        def open(self, name: str) -> BufferedIOBase:
            return BytesIO(b"no picture")

    with pytest.raises(BadInput, match=r"0\.png"):
        pool(Path(), store=Held(), strict=True).take(np.array([0]))
