"""Surveys of many pictures: what the ends of files tell, and what has to wait for decoding."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from mixcal.data import pictures
from mixcal.data.archives import FolderStore
from mixcal.data.options import DataOptions
from mixcal.data.pictures import Listing, own_album, surveyed
from mixcal.data.reading import Reading
from tests.support.pictures import picture, save

NAMES = [f"{number}.jpg" for number in range(6)]


@pytest.fixture
def listing(tmp_path: Path) -> Listing:
    for number, name in enumerate(NAMES):
        save(tmp_path / name, picture(number), quality=95)
    return Listing(store=FolderStore(tmp_path), names=np.array(NAMES), labels=np.arange(6) % 2)


def harm(listing: Listing, number: int, *, keep: float) -> None:
    path = listing.store.root / NAMES[number]
    whole = path.read_bytes()
    path.write_bytes(whole[: int(keep * len(whole))])


def test_a_cut_file_shows_at_its_end(listing: Listing) -> None:
    harm(listing, 1, keep=0.8)
    harm(listing, 2, keep=0)
    with ThreadPoolExecutor(2) as workers:
        found = surveyed({"train": listing}, workers, decode_odd_ends=True)
        quick = surveyed({"train": listing}, workers, decode_odd_ends=False)
    assert set(found.failures) == {"1.jpg", "2.jpg"}
    assert found.listings["train"].labels.tolist() == [0, 1, 0, 1]
    assert len(found.headers) == 4
    assert set(quick.failures) == {"2.jpg"}


def test_an_odd_end_alone_is_no_reason(listing: Listing) -> None:
    path = listing.store.root / NAMES[3]
    path.write_bytes(path.read_bytes() + b"and a note that some program added")
    with ThreadPoolExecutor(1) as workers:
        found = surveyed({"train": listing}, workers, decode_odd_ends=True)
    assert not found.failures


@pytest.mark.parametrize("memory", [0, 10])
def test_of_many_pictures_a_damaged_middle_keeps_its_place(
    memory: int, listing: Listing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "THOROUGH", 5)
    harm(listing, 1, keep=0.8)
    path = listing.store.root / "4.png"
    save(path, picture(4))
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 0xFF
    path.write_bytes(bytes(whole))
    listing = Listing(
        store=listing.store,
        names=np.array([*NAMES[:4], "4.png", NAMES[5]]),
        labels=listing.labels,
    )
    reading = Reading(folder=Path(), memory_megabytes=memory)
    album = own_album({"train": listing}, DataOptions(), reading)
    pool = album.pools["train"]
    # Left out: the one whose end is missing. Gray: the one that only decoding shows.
    assert pool.ids.tolist() == ["0.jpg", "2.jpg", "3.jpg", "4.png", "5.jpg"]
    if memory:
        assert "1 pictures cannot be read and are plain gray (like 4.png" in album.remarks[1]
        raw = pool.take(np.array([3]))
    else:
        with pytest.warns(UserWarning, match=r"4\.png cannot be read"):
            raw = pool.take(np.array([3]))
    assert (raw == 128).all()
    assert "1 of 6 pictures cannot be read and are left out (like 1.jpg" in album.remarks[0]
