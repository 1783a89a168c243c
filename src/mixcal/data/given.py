"""Images and labels as people hold them in Python: numbers of any type, to bytes and class numbers.

Bytes are taken as they are, true and false as white and black, other whole numbers if they lie in
0 … 255, decimal numbers if they lie in 0 … 1 (times 255, rounded). Anything else needs a range that
is stretched to 0 … 255; what lies outside the range is clipped to it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Int, Shaped, UInt8

from mixcal.core.errors import BadInput
from mixcal.data.pool import UNLABELED

Range = tuple[float, float]


def as_pictures(
    rows: Shaped[np.ndarray, "..."], shape: Sequence[int] | str | None
) -> Shaped[np.ndarray, "n h w *c"]:
    """Rows of numbers as pictures of this shape ("row": one pixel high); pictures as they are."""
    if rows.ndim != 2:
        if rows.ndim not in (3, 4) or (rows.ndim == 4 and rows.shape[3] not in (1, 3)):
            raise BadInput(
                f"X has the shape {rows.shape}; give (n, height, width) or (n, height, width, "
                "channels) with 1 or 3 channels."
            )
        return rows
    if shape is None:
        raise BadInput(
            f"X has the shape {rows.shape}; give (n, height, width[, channels]), or say with "
            'image_shape what a row is: (height, width[, channels]), or "row" for one pixel high.'
        )
    wanted = (1, rows.shape[1]) if isinstance(shape, str) else tuple(int(side) for side in shape)
    if isinstance(shape, str) and shape != "row":
        raise BadInput(f'image_shape is {shape!r}; it is "row" or (height, width[, channels]).')
    if len(wanted) not in (2, 3) or int(np.prod(wanted)) != rows.shape[1]:
        raise BadInput(f"X has {rows.shape[1]} numbers a row, which are no picture of {wanted}.")
    return rows.reshape(len(rows), *wanted)


def data_range(values: Shaped[np.ndarray, "..."]) -> Range:
    """From the smallest to the largest number; a range of no width is given one."""
    low, high = float(values.min()), float(values.max())
    return low, high if high > low else low + 1.0


def as_bytes(values: Shaped[np.ndarray, "..."], range_: Range | None) -> UInt8[np.ndarray, "..."]:
    """As the first lines of this file say."""
    if range_ is not None:
        low, high = range_
        if not high > low:
            raise BadInput(f"value_range is {range_}; its second number must be the larger one.")
        share = np.clip((values.astype(np.float64) - low) / (high - low), 0, 1)
        return np.rint(share * 255).astype(np.uint8)
    if values.dtype == np.uint8:
        return values
    if values.dtype == bool:
        return values.astype(np.uint8) * np.uint8(255)
    whole = np.issubdtype(values.dtype, np.integer)
    most = 255 if whole else 1
    low, high = (values.min(), values.max()) if values.size else (0, 0)
    if low < 0 or high > most:
        kind = "whole numbers must lie in 0 … 255" if whole else "decimal numbers must lie in 0 … 1"
        raise BadInput(
            f"X reaches from {low:g} to {high:g}, and {kind}; say with value_range=(low, high) "
            'what is black and what is white, or value_range="data" for the smallest and largest.'
        )
    return values.astype(np.uint8) if whole else np.rint(values * 255).astype(np.uint8)


def without_label(labels: Shaped[np.ndarray, " n"], marker: Any) -> Bool[np.ndarray, " n"]:
    """Which rows have no label. Among texts the marker is looked for as text; among Python objects
    None and NaN count, too; no marker (None): every row has one."""
    if marker is None:
        return np.zeros(len(labels), dtype=bool)
    if labels.dtype.kind == "O":
        missing = [label is None or label != label or label == marker for label in labels]
        return np.array(missing, dtype=bool)
    if labels.dtype.kind in "US":
        return labels == np.array(str(marker)).astype(labels.dtype.kind)
    return np.asarray(labels == marker) & np.ones(len(labels), dtype=bool)


def numbered(
    labels: Shaped[np.ndarray, " n"], missing: Bool[np.ndarray, " n"]
) -> tuple[Shaped[np.ndarray, " k"], Int[np.ndarray, " n"]]:
    """The classes in order, and each row's number among them; −1 where there is no label."""
    numbers = np.full(len(labels), UNLABELED, dtype=np.int64)
    classes, numbers[~missing] = np.unique(labels[~missing], return_inverse=True)
    if len(classes) < 2:
        raise BadInput(
            f"The labels are of {len(classes)} class; a classifier needs at least two classes."
        )
    return classes, numbers
