"""Word vectors from a file in GloVe's text format: a word, a space, its numbers, one word a line.

(Pennington, Socher & Manning, EMNLP 2014.) Only the lines of wanted words are kept; a first line of
two numbers, as word2vec writes it, is passed over.
"""

from collections.abc import Collection
from pathlib import Path

import numpy as np
from jaxtyping import Float

from mixcal.core.errors import BadInput


def read_vectors(
    path: Path, wanted: Collection[str], width: int
) -> dict[str, Float[np.ndarray, " d"]]:
    """The vectors of those wanted words that the file has."""
    if not path.is_file():
        raise BadInput(f"There is no file of word vectors {path}; check the path.")
    found: dict[str, np.ndarray] = {}
    names = frozenset(wanted)
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            for place, line in enumerate(file, start=1):
                # A word may hold spaces; the numbers are the last ones.
                parts = line.rstrip("\n").rsplit(" ", width)
                if place == 1 and len(line.split()) == 2:
                    continue
                if len(parts) != width + 1 or (place == 1 and " " in parts[0]):
                    raise BadInput(
                        f"{path}, line {place}: not a word and {width} numbers; set the width of "
                        "the network to that of the vectors."
                    )
                if parts[0] in names:
                    found[parts[0]] = np.array(parts[1:], dtype=np.float32)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise BadInput(f"{path} cannot be read as word vectors ({error}).") from None
    if not found:
        raise BadInput(f"{path} has none of the {len(names):,} words; take vectors of English.")
    return found
