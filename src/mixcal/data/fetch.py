"""Downloads: resumed where they broke off, and kept only if size and hash are right.

A file grows as NAME.part, with a note of what the server said it was (NAME.part.json), and gets
its name once it is whole and checked. Where no SHA-256 can be cited, the first one is written down
in hashes.json beside the files, and later fetches have to match it.
"""

import hashlib
import http.client
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from mixcal.core.errors import BadInput
from mixcal.data.published import Download

TRIES = 5
BLOCK = 1 << 18
SECONDS = 60.0
PINS = "hashes.json"
BROKEN = (OSError, http.client.HTTPException)
NOT_THAT_PART = 416

# Told the bytes there are and the bytes there will be (None: the server does not say).
Progress = Callable[[int, int | None], None]
Wait = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that is there and checked, and by what."""

    path: Path
    was_there: bool
    checked_by: str


class Gone(Exception):
    """An address that does not give the file, and why."""


def fetch(
    download: Download,
    folder: Path,
    *,
    progress: Progress = lambda there, whole: None,
    wait: Wait = time.sleep,
) -> Fetched:
    """Get one file into a folder; a file that is there is only checked."""
    target = folder / download.file
    partial = folder / f"{download.file}.part"
    try:
        if target.is_file():
            return Fetched(target, True, checked(target, download))
        folder.mkdir(parents=True, exist_ok=True)
        _receive(download, partial, progress, wait)
        try:
            by = checked(partial, download)
        except BadInput:
            partial.unlink()
            raise
        os.replace(partial, target)
        _note(partial).unlink(missing_ok=True)
    except OSError as error:
        raise BadInput(
            f"{target} cannot be kept ({error.strerror or error}); see to that, then fetch again."
        ) from None
    return Fetched(target, False, by)


def _receive(download: Download, partial: Path, progress: Progress, wait: Wait) -> None:
    """The whole file as NAME.part, from the first address that gives it."""
    reasons = []
    for address in download.addresses:
        if not address.startswith(("http://", "https://")):
            raise BadInput(
                f"{address} is no address to fetch from; give one that begins with http."
            )
        try:
            _receive_from(address, download, partial, progress, wait)
            return
        except Gone as error:
            reasons.append(f"{address}: {error}")
    there = _size(partial)
    again = f"; {there:,} bytes are there, and the next try goes on from them" if there else ""
    raise BadInput(
        f"{download.file} could not be fetched ({'; '.join(reasons)}){again}; try again later, or "
        f"put the file into {partial.parent} yourself."
    )


def _receive_from(
    address: str, download: Download, partial: Path, progress: Progress, wait: Wait
) -> None:
    reason = ""
    for attempt in range(TRIES):
        if attempt:
            wait(2.0**attempt)
        try:
            whole = _go_on(address, download, partial, progress)
        except urllib.error.HTTPError as error:
            if error.code == NOT_THAT_PART:
                # What is there is no beginning of what the server has now.
                partial.unlink()
            elif error.code < 500:
                raise Gone(f"HTTP {error.code} {error.reason}") from None
            reason = f"HTTP {error.code} {error.reason}"
            continue
        except BROKEN as error:
            reason = str(error) or type(error).__name__
            continue
        if whole is None or _size(partial) >= whole:
            return
        reason = f"it ended after {_size(partial):,} of {whole:,} bytes"
    raise Gone(f"{reason}, {TRIES} times")


def _go_on(address: str, download: Download, partial: Path, progress: Progress) -> int | None:
    """Receive what is still missing; the size of the whole file, if anybody knows it."""
    there = _size(partial)
    if download.size is not None and there == download.size:
        return there
    with urllib.request.urlopen(_question(address, partial, there), timeout=SECONDS) as answer:
        start, whole = _part_sent(answer, there)
        whole = download.size if whole is None else whole
        if download.size is not None and whole != download.size:
            raise Gone(f"the file there has {whole:,} bytes, the published one {download.size:,}")
        _write(_note(partial), json.dumps({"address": address, "tag": _tag(answer)}).encode())
        with open(partial, "r+b" if start else "wb") as file:
            file.seek(start)
            file.truncate()
            there = start
            while block := answer.read(BLOCK):
                there += len(block)
                if download.size is not None and there > download.size:
                    file.truncate(0)
                    raise Gone(f"it sends more than the published {download.size:,} bytes")
                _append(file, block)
                progress(there, whole)
    return whole


def _question(address: str, partial: Path, there: int) -> urllib.request.Request:
    request = urllib.request.Request(address, headers={"User-Agent": "mixcal"})
    if there:
        request.add_header("Range", f"bytes={there}-")
        noted = _read_json(_note(partial))
        if noted.get("address") == address and noted.get("tag"):
            # If the file has changed there, send it from its beginning.
            request.add_header("If-Range", noted["tag"])
    return request


def _part_sent(answer: Any, there: int) -> tuple[int, int | None]:
    """Where what is sent begins, and how long the whole file is."""
    length = answer.headers.get("Content-Length")
    if answer.status == 206:
        part, _, whole = answer.headers.get("Content-Range", "").rpartition("/")
        if part.strip().startswith(f"bytes {there}-"):
            return there, int(whole) if whole.isdigit() else None
        raise Gone(f"it sends another part than asked for ({part})")
    return 0, int(length) if length and length.isdigit() else None


def _tag(answer: Any) -> str:
    """What the server calls this version of the file; weak tags do not promise equal bytes."""
    tag: str = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
    return "" if tag.startswith("W/") else tag


def _append(file: BinaryIO, block: bytes) -> None:
    """Write, telling a full disk from a broken line."""
    try:
        file.write(block)
        file.flush()
    except OSError as error:
        raise BadInput(
            f"{file.name} cannot be written ({error.strerror}); make room, then fetch again: it "
            "goes on from there."
        ) from None


def checked(path: Path, download: Download) -> str:
    """What vouches for a file; an error if size or hash are not what they should be."""
    size = path.stat().st_size
    if download.size is not None and size != download.size:
        raise _wrong(path, download, f"{size:,} bytes", f"{download.size:,}")
    sha256 = _digest(path, "sha256")
    if download.sha256:
        if sha256 != download.sha256:
            raise _wrong(path, download, f"the SHA-256 {sha256}", download.sha256)
        return f"SHA-256 as in {download.cited}"
    by = "no hash is published"
    if download.md5:
        md5 = _digest(path, "md5")
        if md5 != download.md5:
            raise _wrong(path, download, f"the MD5 {md5}", download.md5)
        by = f"MD5 as in {download.cited}"
    pins = path.parent / PINS
    known = _read_json(pins)
    if download.file not in known:
        _write(pins, json.dumps(known | {download.file: sha256}, indent=1).encode() + b"\n")
        return f"{by}; its SHA-256 is now written down in {pins}"
    if known[download.file] != sha256:
        raise BadInput(
            f"{path} has the SHA-256 {sha256}, but the first one fetched had "
            f"{known[download.file]} ({pins}); if the new one is right, take the line out of it."
        )
    return f"{by}; SHA-256 as first fetched ({pins})"


def _wrong(path: Path, download: Download, found: str, wanted: str) -> BadInput:
    source = f" ({download.cited})" if download.cited else ""
    what = "has been removed; fetch again, or from elsewhere with --mirror"
    if path.suffix != ".part":
        what = "delete it to fetch the published one"
    return BadInput(f"{path} has {found} instead of {wanted}{source}; {what}.")


def _digest(path: Path, kind: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


def _note(partial: Path) -> Path:
    return partial.with_name(partial.name + ".json")


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _read_json(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(path: Path, data: bytes) -> None:
    partial = path.with_name(path.name + ".new")
    partial.write_bytes(data)
    os.replace(partial, path)
