"""A full disk, said in a sentence that names the file and the remedy."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mixcal.core.errors import BadInput

NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


class DiskFull(BadInput):
    """There is no room for a file of the run."""


@contextmanager
def telling_when_full(path: Path | None = None) -> Iterator[None]:
    """Turns "no space left" into a sentence that says what to do; `path`: what is written."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        where = path or error.filename or "a file"
        raise DiskFull(
            f"No room to write {where} ({error.strerror}); free some space and {_then(path)}."
        ) from None


def _then(path: Path | None) -> str:
    """How to go on: with the run the file belongs to, if there is one by now."""
    for folder in (path, *path.parents) if path is not None else ():
        if (folder / "generator.json").is_file():
            return f"go on with `mixcal synthesize train --resume {folder}`"
        if (folder / "recipe.toml").is_file():
            return f"go on with `mixcal train --resume {folder}`"
    return "try again"
