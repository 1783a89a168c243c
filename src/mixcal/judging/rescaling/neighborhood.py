"""What rescalers that look at neighbors are given: features of the same samples, and knobs."""

from typing import get_args

import numpy as np
from jaxtyping import Float, Shaped

from mixcal.core.errors import BadInput
from mixcal.judging.metrics.proximity import Variant, proximity


def checked_features(
    features: Shaped[np.ndarray, "..."], n: int, d: int | None = None
) -> Float[np.ndarray, "n d"]:
    """One finite row a sample, of the width that was fitted on."""
    array = np.asarray(features)
    if array.ndim != 2 or len(array) != n or 0 in array.shape:
        raise BadInput(
            f"The features have shape {array.shape} for {n} samples; give one row a sample."
        )
    if d is not None and array.shape[1] != d:
        raise BadInput(
            f"The features have {array.shape[1]} columns and the rescaler was fitted on {d}; give "
            "those of the same network."
        )
    array = array.astype(np.result_type(array.dtype, np.float32), copy=False)
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array).all(1)))
        raise BadInput(f"Row {row} of the features is not finite; drop or repair the sample.")
    return array


def checked_knobs(neighbors: int, variant: str) -> Variant:
    """The variant of the proximity, once both knobs make sense."""
    if neighbors < 1:
        raise BadInput(f"neighbors is {neighbors}; it must be at least 1, for example 10.")
    for known in get_args(Variant):
        if variant == known:
            return known
    raise BadInput(f"variant is {variant!r}; it is one of {', '.join(get_args(Variant))}.")


def own_proximity(
    features: Float[np.ndarray, "n d"], *, neighbors: int, variant: Variant
) -> Float[np.ndarray, " n"]:
    """Of held-out samples among themselves; a single one has no neighbors."""
    if len(features) == 1:
        return np.zeros(1)
    return proximity(features, features, neighbors=neighbors, variant=variant, same=True)
