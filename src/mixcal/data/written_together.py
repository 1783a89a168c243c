"""Several files of a folder, replaced by new ones all at once or not at all."""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from jaxtyping import Shaped

Content = str | Shaped[np.ndarray, "..."]


def write_together(folder: Path, contents: Mapping[str, Content]) -> None:
    """All files under other names first, so that what cannot be written leaves all old ones."""
    parts = {folder / name: folder / f".{name}.part" for name in contents}
    try:
        for part, content in zip(parts.values(), contents.values(), strict=True):
            with open(part, "wb") as out:
                if isinstance(content, str):
                    out.write(content.encode())
                else:
                    np.save(out, content, allow_pickle=False)
                out.flush()
                os.fsync(out.fileno())
        for file, part in parts.items():
            part.replace(file)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)
