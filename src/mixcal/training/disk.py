"""Writing files so that a crash at any moment leaves the old one or the new one, never half."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mixcal.core.errors import BadInput
from mixcal.core.full_disk import telling_when_full


def unfinished(path: Path) -> Path:
    """What a file is called until it is whole."""
    return path.with_name(f".{path.name}.part")


def check_place(path: Path) -> None:
    """Refuse a path that no file can have."""
    if path.is_dir():
        raise BadInput(f"{path} is a folder; give the name of a file.")
    if not path.parent.is_dir():
        raise BadInput(f"The folder of {path} does not exist; make it first.")


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` make a temporary file, put it on the disk, and give it its name."""
    check_place(path)
    temporary = unfinished(path)
    with telling_when_full(path):
        try:
            write(temporary)
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_json(path: Path, value: Any) -> None:
    """A JSON file, atomically."""
    text = json.dumps(value, indent=1, sort_keys=False) + "\n"
    write_text(path, text)


def write_text(path: Path, text: str) -> None:
    """A text file, atomically."""

    def write(part: Path) -> None:
        part.write_text(text)

    write_atomically(path, write)
