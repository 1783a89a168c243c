"""The parts of a recipe that the data room reads."""

from dataclasses import dataclass
from typing import Annotated, Literal

from mixcal.core.quantities import (
    Amount,
    Count,
    InnerShare,
    Positive,
    PositiveShare,
    Range,
    Rising,
    Share,
    ShareBelowOne,
)

# The source of a run whose images were handed over in Python.
ARRAYS = "arrays"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOptions:
    """Which data, which of it is labeled, and where validation comes from.

    `source` is a name (`mixcal data list`), or "folder", "manifest", "npz" with a `path`.
    Labels: `labels_per_class`, or `label_fraction` of every class, or all there are.
    """

    source: str = "digits"
    path: str = ""
    unlabeled_path: str = ""
    test_path: str = ""
    # Large pictures are brought to this size when they are decoded; 0 keeps what there is.
    image_size: Amount = 0
    # SVHN's extra pictures, ImageNet's year and the like; each source says what it knows.
    variant: str = ""

    labels_per_class: Count | None = None
    label_fraction: PositiveShare | None = None
    labeled_in_unlabeled: bool = True
    # Which images are drawn follows from this seed, or from the run's where it is not given.
    split_seed: int | None = None

    # "auto": out of the user's labels for their own data, from the source if it has one, else none.
    validation: Literal["auto", "labels", "pool", "source", "none"] = "auto"
    validation_fraction: InnerShare = 0.2
    validation_stratified: bool = True

    # The most frequent class has `imbalance` times the images of the rarest; 1: as they come.
    imbalance: Annotated[float, Range(1)] = 1.0
    head_count: Count | None = None
    # Use only so many images of the training pool, drawn evenly over the classes; 0: all.
    train_limit: Amount = 0
    order: Literal["passes", "epochs", "balanced"] = "passes"


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions:
    """How images look in training.

    `crop = "shift"`: pad by `padding_fraction` of the size and cut a window out;
    `"resized"`: a random part of the image brought to `size`; `"none"`: as it is.
    """

    crop: Literal["shift", "resized", "none"] = "shift"
    padding_fraction: ShareBelowOne = 0.125
    border: Literal["reflect", "zeros", "edge"] = "reflect"
    # None: as the data set's source says (digits and house numbers read only one way round).
    flip: bool | None = None
    area: Annotated[tuple[PositiveShare, PositiveShare], Rising()] = (0.08, 1.0)
    aspect: Annotated[tuple[Positive, Positive], Rising()] = (0.75, 4 / 3)
    size: Amount = 0

    strong: Literal["usb", "fixmatch"] = "usb"
    # Published codes disagree: "after" crops first, then applies RandAugment; "before" reverses.
    operations: Literal["after", "before"] = "after"
    # None: half the width, at most ("usb") or always ("fixmatch").
    cutout: Share | None = None
    # "usb": where that code's square has its centre, from the second pixel on, on both axes.
    cutout_center: Literal["anywhere", "usb"] = "anywhere"
    strong_crop: Literal["same", "resized"] = "same"
