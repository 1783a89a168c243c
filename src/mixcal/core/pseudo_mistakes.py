"""Wrong pseudo-labels at the end of a run, where hidden labels tell: for judging to show."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from jaxtyping import Float, Int, Shaped

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions

KEPT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PseudoMistakes:
    """The most confident wrong pseudo-labels, surest first; `position` is within the split.

    `asked` samples were looked at, `wrong` of them were wrong.
    """

    ids: Shaped[np.ndarray, " n"]
    position: Int[np.ndarray, " n"]
    said: Int[np.ndarray, " n"]
    label: Int[np.ndarray, " n"]
    confidence: Float[np.ndarray, " n"]
    asked: int
    wrong: int
    classes: tuple[str, ...]

    @classmethod
    def of(
        cls, predictions: Predictions, position: Int[np.ndarray, " m"], *, count: int = KEPT
    ) -> Self:
        """The surest mistakes among these predictions, which stand at these positions."""
        probs = predictions.probs
        said, confidence = probs.argmax(1), probs.max(1)
        wrong = np.flatnonzero(said != predictions.labels)
        first = wrong[np.argsort(-confidence[wrong], kind="stable")[:count]]
        return cls(
            ids=predictions.ids[first],
            position=position[first],
            said=said[first],
            label=predictions.labels[first],
            confidence=confidence[first],
            asked=len(predictions),
            wrong=len(wrong),
            classes=predictions.classes,
        )

    def __len__(self) -> int:
        return len(self.said)

    def save(self, path: Path) -> None:
        """Write an uncompressed `.npz` that needs no pickle to read."""
        with open(path, "wb") as file:
            np.savez(
                file,
                ids=self.ids,
                position=self.position,
                said=self.said,
                label=self.label,
                confidence=self.confidence,
                counts=np.array([self.asked, self.wrong]),
                classes=np.array(self.classes),
            )

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote."""
        try:
            with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
                arrays = dict(file)
            asked, wrong = arrays.pop("counts").tolist()
            classes = tuple(arrays.pop("classes").tolist())
            return cls(**arrays, asked=asked, wrong=wrong, classes=classes)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput(
                f"{path} cannot be read as a file of wrong pseudo-labels ({error}); "
                "train the run anew or delete it."
            ) from None
