"""How sources are read on this machine: nothing here decides a number."""

import os
from dataclasses import dataclass
from pathlib import Path


def data_folder(named: str = "") -> Path:
    """Where data sets lie: the folder named, or $MIXCAL_DATA, or the user's cache."""
    named = named or os.environ.get("MIXCAL_DATA", "")
    return Path(named).expanduser() if named else Path.home() / ".cache" / "mixcal" / "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Where data sets lie, and how much of them may be held in memory."""

    folder: Path
    memory_megabytes: int = 2048
    workers: int = 4
    strict: bool = False
