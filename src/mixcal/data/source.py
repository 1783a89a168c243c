"""A source: one data set as somebody published it, or a person's own."""

from dataclasses import dataclass, field
from typing import Literal

from mixcal.data.pool import Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Training and test pools with what the data set's authors say about them.

    Samples of the training pool whose label is −1 are unlabeled by nature (STL-10's own unlabeled
    part, a folder of unlabeled images). `mean` and `std` are per channel, of raw / 255; None means
    they are computed from the training pool. `own` marks a person's own data: validation then
    comes out of their labels.
    """

    name: str
    classes: tuple[str, ...]
    train: Pool
    test: Pool | None
    validation: Pool | None = None
    kind: Literal["image", "text"] = "image"
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    flips: bool = True
    own: bool = False
    # Of a text: what each number stands for; number 0 is no word.
    words: tuple[str, ...] = ()
    # What a reader had to leave out or change, one sentence each; printed and kept with the run.
    remarks: tuple[str, ...] = ()
    extra: dict[str, object] = field(default_factory=dict)
