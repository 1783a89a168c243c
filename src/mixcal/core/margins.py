"""Margins: what training remembers of every sample, for judging to read."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from jaxtyping import Float, Int, Shaped

from mixcal.core.errors import BadInput


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
            return cls(**arrays, classes=classes)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{path} cannot be read as a margins file ({error}).") from None
