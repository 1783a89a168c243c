"""A full disk, said in a sentence that names the file and the remedy."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mixcal.core.errors import BadInput

NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
# Folders within a run's folder that hold files of their own.
WITHIN = ("checkpoints", "predictions", "ledgers")


class DiskFull(BadInput):
    """There is no room for a file of the run."""


@contextmanager
def telling_when_full(path: Path) -> Iterator[None]:
    """Turns "no space left" into a sentence that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise DiskFull(
            f"No room to write {path} ({error.strerror}); free some space and go on with "
            f"`mixcal train --resume {_run_of(path)}`."
        ) from None


def _run_of(path: Path) -> Path:
    for folder in path.parents:
        if folder.name in WITHIN:
            return folder.parent
    return path.parent
