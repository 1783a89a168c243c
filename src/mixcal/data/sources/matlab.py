"""MATLAB files (up to version 7.2), read by scipy without running anything."""

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mixcal.core.errors import BadInput
from mixcal.data.archives import damaged


def read_mat(path: Path, names: Sequence[str], *, squeeze: bool = False) -> list[Any]:
    """The variables of these names."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        contents = loadmat(path, variable_names=names, squeeze_me=squeeze)
    except (
        *(ValueError, TypeError, KeyError, IndexError, EOFError, OSError, MemoryError),
        *(zlib.error, NotImplementedError, MatReadError),
    ) as error:
        raise damaged(path, error) from None
    for name in names:
        if name not in contents:
            raise BadInput(f"{path} has no variable {name}; get it again.")
    return [contents[name] for name in names]
