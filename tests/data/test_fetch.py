"""Downloads from a server on localhost that breaks off, lies, or changes its mind."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mixcal.core.errors import BadInput
from mixcal.data.fetch import TRIES, fetch
from mixcal.data.published import SETS, Download
from tests.support.file_server import Server, file_server

DATA = os.urandom(700_000)
OTHER = os.urandom(700_000)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    with file_server() as running:
        running.files["x.bin"] = DATA
        yield running


def download(server: Server, **more) -> Download:
    given = {
        "file": "x.bin",
        "addresses": (server.address + "x.bin",),
        "size": len(DATA),
        "sha256": hashlib.sha256(DATA).hexdigest(),
        "cited": "the test",
    }
    return Download(**(given | more))


def get(server: Server, folder: Path, waited: list[float] | None = None, **more):
    seconds: list[float] = [] if waited is None else waited
    return fetch(download(server, **more), folder, wait=seconds.append)


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_file_arrives_whole_and_is_not_fetched_twice(server: Server, tmp_path: Path) -> None:
    seen = []
    folder = tmp_path / "new" / "folder"
    found = fetch(download(server), folder, progress=lambda *counts: seen.append(counts))
    assert found.path.read_bytes() == DATA
    assert found.checked_by == "SHA-256 as in the test"
    assert seen[-1] == (len(DATA), len(DATA))
    assert [there for there, _ in seen] == sorted({there for there, _ in seen})
    assert left(folder) == {"x.bin"}
    assert get(server, folder).was_there
    assert len(server.asked) == 1


def test_it_goes_on_where_it_broke_off(server: Server, tmp_path: Path) -> None:
    server.breaks = [100_000, 1, 0]
    waited: list[float] = []
    assert get(server, tmp_path, waited).path.read_bytes() == DATA
    assert [wanted for _, wanted in server.asked] == [
        "",
        "bytes=100000-",
        "bytes=100001-",
        "bytes=100001-",
    ]
    assert waited == [2.0, 4.0, 8.0]


def test_a_stopped_fetch_goes_on_the_next_time(server: Server, tmp_path: Path) -> None:
    server.breaks = [50_000] + [0] * (TRIES - 1)
    with pytest.raises(
        BadInput, match=r"ended after 50,000 of 700,000 bytes, 5 times.*50,000 byte"
    ):
        get(server, tmp_path)
    assert left(tmp_path) == {"x.bin.part", "x.bin.part.json"}
    server.asked.clear()
    assert get(server, tmp_path).path.read_bytes() == DATA
    assert server.asked == [("x.bin", "bytes=50000-")]


def test_a_kill_in_the_middle_loses_nothing(server: Server, tmp_path: Path) -> None:
    def stop(there: int, whole: int | None) -> None:
        if there > 300_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(download(server), tmp_path, progress=stop)
    there = (tmp_path / "x.bin.part").stat().st_size
    assert 300_000 < there < len(DATA)
    server.asked.clear()
    assert get(server, tmp_path).path.read_bytes() == DATA
    assert server.asked == [("x.bin", f"bytes={there}-")]


def test_a_server_without_ranges_begins_again(server: Server, tmp_path: Path) -> None:
    server.ranges = False
    server.breaks = [100_000]
    assert get(server, tmp_path).path.read_bytes() == DATA
    assert [wanted for _, wanted in server.asked] == ["", "bytes=100000-"]


def test_a_server_without_lengths(server: Server, tmp_path: Path) -> None:
    server.lengths = False
    server.breaks = [100_000]
    assert get(server, tmp_path).path.read_bytes() == DATA


def test_a_file_that_changes_meanwhile_is_fetched_anew(server: Server, tmp_path: Path) -> None:
    server.breaks = [100_000] + [0] * (TRIES - 1)
    with pytest.raises(BadInput):
        get(server, tmp_path)
    server.files["x.bin"], server.tag = OTHER, '"two"'
    sha256 = hashlib.sha256(OTHER).hexdigest()
    assert get(server, tmp_path, sha256=sha256).path.read_bytes() == OTHER


def test_a_part_longer_than_the_file_is_dropped(server: Server, tmp_path: Path) -> None:
    (tmp_path / "x.bin.part").write_bytes(bytes(800_000))
    assert get(server, tmp_path, size=None).path.read_bytes() == DATA


def test_a_wrong_hash_is_refused_and_removed(server: Server, tmp_path: Path) -> None:
    server.files["x.bin"] = OTHER
    with pytest.raises(BadInput) as found:
        get(server, tmp_path)
    assert hashlib.sha256(OTHER).hexdigest() in str(found.value)
    assert hashlib.sha256(DATA).hexdigest() in str(found.value)
    assert "(the test)" in str(found.value)
    assert "has been removed" in str(found.value)
    assert "x.bin" not in left(tmp_path)
    assert "x.bin.part" not in left(tmp_path)


@pytest.mark.parametrize("lengths", [True, False])
@pytest.mark.parametrize("change", [-10, 10])
def test_a_wrong_size_is_refused(
    change: int, lengths: bool, server: Server, tmp_path: Path
) -> None:
    server.lengths = lengths
    server.files["x.bin"] = DATA[:change] if change < 0 else DATA + bytes(change)
    with pytest.raises(BadInput, match=r"has 700,010 bytes|more than the published|699,990"):
        get(server, tmp_path)
    assert not (tmp_path / "x.bin").exists()


def test_the_second_address_helps_where_the_first_does_not(server: Server, tmp_path: Path) -> None:
    addresses = (server.address + "gone.bin", server.address + "x.bin")
    assert get(server, tmp_path, addresses=addresses).path.read_bytes() == DATA
    with pytest.raises(BadInput, match=r"gone\.bin: HTTP 404.*put the file into"):
        get(server, tmp_path / "other", addresses=addresses[:1])


def test_a_busy_server_is_asked_again(server: Server, tmp_path: Path) -> None:
    server.refuses = [503, 503]
    waited: list[float] = []
    assert get(server, tmp_path, waited).path.read_bytes() == DATA
    assert waited == [2.0, 4.0]


def test_nobody_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with file_server() as closed:
        pass
    with pytest.raises(BadInput, match=r"x\.bin could not be fetched .*refused.*5 times"):
        get(closed, tmp_path)


def test_only_addresses_of_the_web(tmp_path: Path, server: Server) -> None:
    with pytest.raises(BadInput, match="begins with http"):
        get(server, tmp_path, addresses=("file:///etc/passwd",))


def test_a_cited_md5_is_checked_and_the_sha256_pinned(server: Server, tmp_path: Path) -> None:
    md5 = hashlib.md5(DATA).hexdigest()
    found = get(server, tmp_path, sha256="", md5=md5)
    assert found.checked_by.startswith("MD5 as in the test; its SHA-256 is now written down in")
    pins = json.loads((tmp_path / "hashes.json").read_text())
    assert pins == {"x.bin": hashlib.sha256(DATA).hexdigest()}
    assert "as first fetched" in get(server, tmp_path, sha256="", md5=md5).checked_by
    (tmp_path / "x.bin").unlink()
    server.files["x.bin"] = OTHER
    with pytest.raises(BadInput, match=f"MD5 .* instead of {md5}"):
        get(server, tmp_path, sha256="", md5=md5)
    # Without any published hash the first one fetched still holds.
    with pytest.raises(BadInput, match="but the first one fetched had"):
        get(server, tmp_path, sha256="", cited="")
    assert not (tmp_path / "x.bin").exists()


def test_a_file_that_was_there_is_checked_too(server: Server, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(OTHER)
    with pytest.raises(BadInput, match="delete it to fetch the published one"):
        get(server, tmp_path)
    assert (tmp_path / "x.bin").read_bytes() == OTHER


def test_a_folder_that_cannot_be_made(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be kept"):
        get(server, tmp_path / "file" / "below")


def test_every_hash_is_a_hash_and_cited() -> None:
    for entry in SETS:
        assert entry.downloads or entry.how
        for one in (*entry.downloads, *(more for _, more in entry.extra)):
            assert one.cited
            assert len(one.sha256) == 64 or (not one.sha256 and len(one.md5) == 32)
            assert all(address.endswith(one.file) for address in one.addresses)
            assert one.size or not one.sha256
