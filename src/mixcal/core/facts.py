"""What a method may know before it sees data."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFacts:
    """Sizes and classes of the data of one run; a method is built from these and its own knobs."""

    classes: int
    class_counts: tuple[int, ...]
    labeled: int
    unlabeled: int = 0
    # How labeled rows are drawn: "balanced" gives every class the same share of a batch.
    order: Literal["passes", "epochs", "balanced"] = "passes"
    input_kind: Literal["image", "text"] = "image"
    steps: int = 1
    epoch_steps: int = 1
    # Inputs are (raw / 255 - mean) / std; methods that work on raw pixels need the way back.
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    # Names of the classes, (height, width, channels) of a raw image, and the split's fingerprint:
    # what rows from elsewhere have to fit.
    class_names: tuple[str, ...] = ()
    image_shape: tuple[int, ...] | None = None
    splits: str = ""
    # Where memories that are too large for a device may lie: the run's folder.
    scratch: Path | None = None

    def __post_init__(self) -> None:
        if len(self.class_counts) != self.classes:
            raise ValueError(f"{len(self.class_counts)} class counts for {self.classes} classes")

    @property
    def drawn_shares(self) -> tuple[float, ...]:
        """How often each class is among the labeled rows of a batch: the prior of training."""
        counts = self.class_counts
        if self.order == "balanced":
            counts = tuple(int(count > 0) for count in counts)
        total = max(sum(counts), 1)
        return tuple(count / total for count in counts)
