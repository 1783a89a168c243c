"""A folder that is whole as soon as it is there, whoever else is making the same one."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from mixcal.core.errors import BadInput


def make_whole(path: Path, mark: str, fill: Callable[[Path], None]) -> None:
    """Fill a folder beside `path`, then give it that name; one that was there first stays.

    `mark` is the file by which a whole one is known.
    """
    try:
        taken = path.exists() and (not path.is_dir() or any(path.iterdir()))
        # After that look, as whole folders come at once: one that was taken then has its mark now.
        if (path / mark).exists():
            return
        if taken:
            raise BadInput(
                f"{path} exists and is no store of mixed images; name another with --into."
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise _cannot(path, error) from None
    try:
        fill(fresh)
        fresh.chmod(0o755)
        fresh.rename(path)
    except OSError as error:
        # Somebody else may have been faster.
        if not (path / mark).exists():
            raise _cannot(path, error) from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _cannot(path: Path, error: OSError) -> BadInput:
    return BadInput(f"{path} cannot be made ({error.strerror}); name another place with --into.")
