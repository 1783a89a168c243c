"""Archives and folders of published files, read without trusting them.

A member's name must stay inside (no absolute path, no "..", no link or device), and all members
together must not be larger than the data set can be: an archive that says otherwise is refused
before anything of it is kept.
"""

import gzip
import io
import lzma
import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path, PurePosixPath
from typing import IO, Protocol, cast, runtime_checkable

from mixcal.core.errors import BadInput

DAMAGE = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    gzip.BadGzipFile,
    tarfile.TarError,
    zipfile.BadZipFile,
    NotImplementedError,  # a zip member packed in a way nobody publishes
)
GIGABYTE = 1 << 30
HEADERS = 64 << 20
# The last part of a file's name, and its contents.
Member = tuple[str, BufferedIOBase]


@runtime_checkable
class Store(Protocol):
    """Files by name, wherever they lie."""

    def open(self, name: str) -> BufferedIOBase:
        """A file that can be read and rewound."""
        ...


@dataclass(frozen=True, slots=True)
class FolderStore:
    """Files below a folder; an absolute name means itself."""

    root: Path

    def open(self, name: str) -> BufferedIOBase:
        """The file of this name."""
        return open(self.root / name, "rb")


@dataclass(frozen=True, slots=True)
class ZipStore:
    """Files in a zip archive, after its names and sizes have been checked."""

    path: Path
    archive: zipfile.ZipFile

    @classmethod
    def at(cls, path: Path, *, most_bytes: int) -> "ZipStore":
        """Open an archive that claims to hold no more than this."""
        try:
            archive = zipfile.ZipFile(path)
        except DAMAGE as error:
            raise damaged(path, error) from None
        total = 0
        for member in archive.infolist():
            check_name(path, member.filename)
            total += member.file_size
        check_total(path, total, most_bytes)
        return cls(path, archive)

    def names(self) -> list[str]:
        """All files, in the archive's order."""
        return [member.filename for member in self.archive.infolist() if not member.is_dir()]

    def open(self, name: str) -> BufferedIOBase:
        """One member, unpacked in memory; zipfile lets several threads do so."""
        try:
            return io.BytesIO(self.archive.read(name))
        except DAMAGE as error:
            raise damaged(self.path, error) from None


def read_members(path: Path, wanted: Collection[str], *, most_bytes: int) -> dict[str, bytes]:
    """The files of these (last) names in a folder, a tar, a tar.gz or a zip; absent ones lack."""
    if path.is_dir():
        found = {}
        for name in wanted:
            if (path / name).is_file():
                found[name] = (path / name).read_bytes()
        return found
    with open_archive(path, most_bytes=most_bytes) as members:
        return {last: file.read() for last, file in members if last in wanted}


def unpack(path: Path, into: Path, *, most_bytes: int) -> None:
    """All files of an archive into one folder, by their last names, each complete or not there."""
    into.mkdir(parents=True, exist_ok=True)
    with open_archive(path, most_bytes=most_bytes) as members:
        for last, file in members:
            partial = into / f"{last}.part"
            with open(partial, "wb") as target:
                shutil.copyfileobj(file, target, 1 << 20)
            os.replace(partial, into / last)


@contextmanager
def open_archive(path: Path, *, most_bytes: int) -> Iterator[Iterator[Member]]:
    """The files of an archive one after another, as (last name, contents)."""
    try:
        if path.suffix == ".zip":
            yield _zip_members(path, most_bytes)
        else:
            with opened(path) as stream:
                yield _tar_members(path, stream, most_bytes)
    except DAMAGE as error:
        raise damaged(path, error) from None


def _zip_members(path: Path, most_bytes: int) -> Iterator[Member]:
    store = ZipStore.at(path, most_bytes=most_bytes)
    for name in store.names():
        with store.archive.open(name) as file:
            yield PurePosixPath(name).name, cast(BufferedIOBase, file)


def _tar_members(path: Path, stream: BufferedIOBase, most_bytes: int) -> Iterator[Member]:
    total = 0
    # Headers come on top of the files; they are read whole, so they need a limit of their own.
    bounded = cast(IO[bytes], Bounded(stream, path, most_bytes + HEADERS))
    with tarfile.open(fileobj=bounded, mode="r|") as archive:
        for member in archive:
            check_name(path, member.name)
            if member.isdir():
                continue
            if not member.isreg() or member.issparse():
                raise BadInput(
                    f"{path} holds {member.name!r}, which is no plain file; it is not the "
                    "published archive, so do not use it."
                )
            total += member.size
            check_total(path, total, most_bytes)
            file = archive.extractfile(member)
            assert file is not None, "a plain file has contents"
            yield PurePosixPath(member.name).name, cast(BufferedIOBase, file)


class Bounded:
    """A stream that ends with an error once more has come out of it than there should be."""

    def __init__(self, stream: BufferedIOBase, path: Path, most_bytes: int) -> None:
        self._stream, self._path = stream, path
        self._most = self._left = most_bytes

    def read(self, size: int) -> bytes:
        """As any stream, one byte past the limit at most."""
        data = self._stream.read(min(size, self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise too_large(self._path, self._most)
        return data


def opened(path: Path) -> BufferedIOBase:
    """A file, unpacked on the fly if its name ends in .gz, .tgz or .xz."""
    if path.suffix in (".gz", ".tgz"):
        return gzip.open(path, "rb")
    if path.suffix == ".xz":
        return lzma.open(path, "rb")
    return open(path, "rb")


def check_name(path: Path, name: str) -> None:
    """Refuse a member that would leave the folder it is unpacked into."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if ".." in parts or name.startswith(("/", "\\")) or name[1:2] == ":":
        raise BadInput(
            f"{path} holds {name!r}, a path that leads outside; it is not the published archive, "
            "so do not use it."
        )


def check_total(path: Path, total: int, most_bytes: int) -> None:
    """Refuse an archive larger than its data set can be."""
    if total > most_bytes:
        raise too_large(path, most_bytes)


def too_large(path: Path, most_bytes: int) -> BadInput:
    """The error for a bomb."""
    return BadInput(
        f"{path} unpacks to more than the {most_bytes / GIGABYTE:.3g} GB its data set can have; it "
        "is not the published archive, so do not use it."
    )


def damaged(path: Path, error: BaseException) -> BadInput:
    """The error for a file that cannot be unpacked."""
    if isinstance(error, OSError) and error.errno:
        # Not the file's fault: no right to read it, a full disk.
        return BadInput(f"{path} cannot be read or unpacked ({error.strerror}); see to that first.")
    return BadInput(
        f"{path} is damaged ({str(error) or type(error).__name__}); delete it and get it again."
    )
