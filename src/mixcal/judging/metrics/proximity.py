"""Proximity and PIECE: is a sample in a sparse region treated worse? (Xiong et al., NeurIPS 2023;
arXiv:2306.04590v3, sections 3 and 4)

    proximity  D(x) = exp(−(1 / k) Σ_{j in kNN(x)} ‖f(x) − f(x_j)‖),     k = 10
    PIECE      Σ_{b, m} |B_bm| / n · |acc − conf|    over b bins of proximity and m of confidence

As in the paper. `variant="official"` is the released code: features of unit length, squared
distances, and the mean of exponentials instead of the exponential of the mean.
"""

from typing import Literal

import numpy as np
from jaxtyping import Float, Shaped

from mixcal.judging.metrics.partition import Partition
from mixcal.judging.metrics.reliability import Reliability

Variant = Literal["paper", "official"]
# Distances held at a time.
BLOCK = 1 << 21


def proximity(
    features: Float[np.ndarray, "n d"],
    reference: Float[np.ndarray, "r d"],
    *,
    neighbors: int = 10,
    variant: Variant = "paper",
    same: bool = False,
) -> Float[np.ndarray, " n"]:
    """How close each sample is to its nearest reference samples, in (0, 1].

    With `same` the reference is the samples themselves, and none is its own neighbor.
    """
    ours, theirs = features.astype(np.float64), reference.astype(np.float64)
    if variant == "official":
        ours, theirs = _of_unit_length(ours), _of_unit_length(theirs)
    neighbors = min(neighbors, len(theirs) - same)
    found = np.empty(len(ours))
    rows = max(1, BLOCK // len(theirs))
    squares = np.vecdot(theirs, theirs)
    for start in range(0, len(ours), rows):
        part = ours[start : start + rows]
        distance = np.vecdot(part, part)[:, None] - 2 * part @ theirs.T + squares
        if same:
            distance[np.arange(len(part)), start + np.arange(len(part))] = np.inf
        nearest = np.partition(distance, neighbors - 1, axis=1)[:, :neighbors]
        nearest = np.maximum(nearest, 0)
        if variant == "paper":
            found[start : start + rows] = np.exp(-np.sqrt(nearest).mean(1))
        else:
            found[start : start + rows] = np.exp(-nearest).mean(1)
    return found


def _of_unit_length(features: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    """Rows of zeros only stay."""
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    return features / np.where(lengths > 0, lengths, 1.0)


def piece(
    confidence: Float[np.ndarray, " n"],
    right: Shaped[np.ndarray, " n"],
    proximity: Float[np.ndarray, " n"],
    *,
    proximity_bins: int = 10,
    bins: int | Partition = 15,
) -> Reliability:
    """The cells of PIECE, whose expected error it is: bins of confidence within ones of proximity.

    Bins of proximity hold equally many samples; PIECE is never below the ECE with the same bins.
    The released code closes the confidence bins on the left: `bins=Partition.equal(15, "left")`.
    """
    edges = np.quantile(proximity, np.linspace(0, 1, proximity_bins + 1))
    place = np.searchsorted(edges[1:-1], proximity, side="right")
    partition = bins if isinstance(bins, Partition) else Partition.equal(bins)
    cells = place * partition.bins + partition.place(confidence)
    return Reliability.of_places(
        cells, confidence, right, Partition.equal(proximity_bins * partition.bins)
    )
