"""Margins: what training remembers of every sample, for judging to read."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from zipfile import BadZipFile

import numpy as np
from jaxtyping import Float, Int, Shaped

from mixcal.core.errors import BadInput

COLUMNS = ("ids", "split", "label", "margin", "visits")


@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """One row a sample: the average margin of its label over the run, and how often it was seen.

    A small or negative margin marks a hard sample; of a labeled one, that its label may be wrong.
    """

    ids: Shaped[np.ndarray, " n"]
    split: Shaped[np.ndarray, " n"]
    label: Int[np.ndarray, " n"]
    margin: Float[np.ndarray, " n"]
    visits: Int[np.ndarray, " n"]
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.margin)

    def __add__(self, other: "Margins") -> "Margins":
        return Margins(
            ids=np.concatenate([self.ids, other.ids]),
            split=np.concatenate([self.split, other.split]),
            label=np.concatenate([self.label, other.label]),
            margin=np.concatenate([self.margin, other.margin]),
            visits=np.concatenate([self.visits, other.visits]),
            classes=self.classes,
        )

    def hardest(self, split: str, count: int) -> Int[np.ndarray, " _"]:
        """Positions of the samples of a split with the smallest margins, smallest first."""
        here = np.flatnonzero((self.split == split) & (self.visits > 0))
        return here[np.argsort(self.margin[here], kind="stable")[:count]]

    def save(self, path: Path) -> None:
        """Write an uncompressed `.npz` that needs no pickle to read."""
        with open(path, "wb") as file:
            np.savez(
                file,
                ids=self.ids,
                split=self.split,
                label=self.label,
                margin=self.margin,
                visits=self.visits,
                classes=np.array(self.classes),
            )

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote."""
        try:
            with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
                arrays = dict(file)
            classes = tuple(arrays.pop("classes").tolist())
            wrong = _wrong(arrays, len(classes))
        except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
            wrong = str(error)
        if wrong:
            raise BadInput(
                f"{path} cannot be read as a margins file ({wrong}); train the run anew or delete "
                "it."
            )
        return cls(**arrays, classes=classes)


def _wrong(arrays: Mapping[str, np.ndarray], classes: int) -> str:
    """What does not fit together in a file that somebody else may have written."""
    if set(arrays) != set(COLUMNS):
        return f"it has {', '.join(arrays)} in place of {', '.join(COLUMNS)}"
    shapes = [arrays[name].shape for name in COLUMNS]
    if len(shapes[0]) != 1 or len(set(shapes)) > 1:
        return f"its columns have the shapes {', '.join(map(str, shapes))}"
    kinds = {"label": np.integer, "visits": np.integer, "margin": np.floating}
    for name, kind in kinds.items():
        if not np.issubdtype(arrays[name].dtype, kind):
            return f"its {name} column holds {arrays[name].dtype}"
    low, high = arrays["label"].min(initial=-1), arrays["label"].max(initial=-1)
    if low < -1 or high >= classes:
        return f"labels run from {low} to {high}, and there are {classes} classes"
    return ""
