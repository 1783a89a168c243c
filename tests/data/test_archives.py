"""Archives: what comes out against what went in, and hostile or damaged ones against refusal."""

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from mixcal.core.errors import BadInput
from mixcal.data.archives import FolderStore, ZipStore, read_members, unpack

FILES = {"top/a.bin": b"alpha" * 300, "top/b.bin": b"beta", "top/c.txt": b""}
ROOM = 1 << 20


def tarred(path: Path, files: dict[str, bytes] = FILES) -> Path:
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as archive:
        folder = tarfile.TarInfo("./")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, contents in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(contents)
            archive.addfile(member, io.BytesIO(contents))
    return path


def zipped(path: Path, files: dict[str, bytes] = FILES) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, contents in files.items():
            archive.writestr(name, contents)
    return path


def foldered(path: Path) -> Path:
    path.mkdir()
    for name, contents in FILES.items():
        (path / Path(name).name).write_bytes(contents)
    return path


MAKERS = {"x.tar.gz": tarred, "x.tar": tarred, "x.zip": zipped, "x": foldered}


@pytest.mark.parametrize("name", MAKERS)
def test_wanted_files_come_out_whole_and_others_stay(name: str, tmp_path: Path) -> None:
    path = MAKERS[name](tmp_path / name)
    found = read_members(path, ["a.bin", "c.txt", "absent"], most_bytes=ROOM)
    assert found == {"a.bin": b"alpha" * 300, "c.txt": b""}


@pytest.mark.parametrize("name", ["x.tar.gz", "x.zip"])
def test_unpacking(name: str, tmp_path: Path) -> None:
    unpack(MAKERS[name](tmp_path / name), tmp_path / "into", most_bytes=ROOM)
    assert {p.name: p.read_bytes() for p in (tmp_path / "into").iterdir()} == {
        Path(name).name: contents for name, contents in FILES.items()
    }


@pytest.mark.parametrize("member", ["../evil", "/evil", "a/../../evil", "C:\\evil", "..\\evil"])
@pytest.mark.parametrize("name", ["x.tar.gz", "x.zip"])
def test_a_path_that_leads_outside_is_refused(name: str, member: str, tmp_path: Path) -> None:
    path = MAKERS[name](tmp_path / name, FILES | {member: b"evil"})
    with pytest.raises(BadInput, match="leads outside"):
        unpack(path, tmp_path / "deep" / "into", most_bytes=ROOM)
    assert not list(tmp_path.rglob("*evil*"))
    if name == "x.zip":
        with pytest.raises(BadInput, match="leads outside"):
            ZipStore.at(path, most_bytes=ROOM)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE])
def test_links_and_devices_are_refused(kind: bytes, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("passwd")
        member.type, member.linkname = kind, "/etc/passwd"
        archive.addfile(member)
    with pytest.raises(BadInput, match="no plain file"):
        read_members(tmp_path / "x.tar.gz", ["passwd"], most_bytes=ROOM)


@pytest.mark.parametrize("name", ["x.tar.gz", "x.zip"])
def test_more_than_the_data_set_can_have_is_refused(name: str, tmp_path: Path) -> None:
    path = MAKERS[name](tmp_path / name, {"a.bin": bytes(600), "b.bin": bytes(600)})
    assert len(read_members(path, ["a.bin", "b.bin"], most_bytes=1200)) == 2
    with pytest.raises(BadInput, match="unpacks to more"):
        read_members(path, ["a.bin"], most_bytes=1199)


def test_a_declared_size_is_refused_before_it_is_read(tmp_path: Path) -> None:
    member = tarfile.TarInfo("a.bin")
    member.size = 1 << 50
    with gzip.open(tmp_path / "x.tar.gz", "wb") as file:
        file.write(member.tobuf() + bytes(1024))
    with pytest.raises(BadInput, match="unpacks to more"):
        read_members(tmp_path / "x.tar.gz", ["a.bin"], most_bytes=ROOM)


def test_a_bomb_in_a_header_is_refused(tmp_path: Path) -> None:
    # A pax header of 200 MB of zeros: tarfile would read it whole before showing a member.
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, 200 << 20
    with gzip.open(tmp_path / "x.tar.gz", "wb", compresslevel=1) as file:
        file.write(header.tobuf(tarfile.USTAR_FORMAT))
        for _ in range(200):
            file.write(bytes(1 << 20))
    with pytest.raises(BadInput, match="unpacks to more"):
        read_members(tmp_path / "x.tar.gz", ["a.bin"], most_bytes=ROOM)


@pytest.mark.parametrize("name", ["x.tar.gz", "x.tar", "x.zip"])
@pytest.mark.parametrize("harm", ["cut", "noise", "empty", "flipped"])
def test_damage_is_named(name: str, harm: str, tmp_path: Path) -> None:
    path = MAKERS[name](tmp_path / name, {"a.bin": bytes(range(256)) * 400})
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes(
        {
            "cut": whole[:middle],
            "noise": b"no archive at all" * 50,
            "empty": b"",
            "flipped": whole[:40] + bytes(255 - b for b in whole[40:80]) + whole[80:],
        }[harm]
    )
    with pytest.raises(BadInput, match=rf"{name} (is damaged .*; delete it|holds|unpacks)"):
        assert not read_members(path, ["a.bin"], most_bytes=ROOM)


def test_a_full_disk_is_not_the_archives_fault(tmp_path: Path) -> None:
    path = tarred(tmp_path / "x.tar.gz")
    (tmp_path / "into").write_text("a file where the folder should be made")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.bin.part").mkdir()
    with pytest.raises(BadInput, match="cannot be read or unpacked"):
        unpack(path, tmp_path / "other", most_bytes=ROOM)


def test_stores_open_by_name(tmp_path: Path) -> None:
    foldered(tmp_path / "x")
    for store, name in (
        (FolderStore(tmp_path / "x"), "b.bin"),
        (FolderStore(tmp_path), str(tmp_path / "x" / "b.bin")),
    ):
        with store.open(name) as file:
            assert file.read() == b"beta"
    store = ZipStore.at(zipped(tmp_path / "x.zip"), most_bytes=ROOM)
    assert store.names() == list(FILES)
    assert store.open("top/a.bin").read() == b"alpha" * 300
