"""Adaptive ECE: bins that hold equally many samples (Nguyen & O'Connor, EMNLP 2015,
arXiv:1508.05154v2; as "AdaECE" in Mukhoti et al., NeurIPS 2020, arXiv:2002.09437v2).

The papers leave open where the edges lie and what happens to ties; seven answers are in use:

    rank       samples in order of confidence, cut into M runs; equal confidences stay together, so
               that the order of the samples cannot matter. Ours; without ties it equals "split".
    midpoint   the same with edges half way between neighbouring runs (uncertainty-calibration)
    split      the same runs, ties cut wherever they fall: depends on the order (torch-uncertainty)
    quantile   linearly interpolated quantiles as edges, [lo, hi) (netcal)
    percentile the same edges, (lo, hi] (scikit-learn)
    least_apart  the same with `bins` edges, the least confidence in a bin of its own (MAPIE)
    interp     edges interpolated at k n / M of the sorted values, (lo, hi] with a strict lowest
               edge: the least confident sample falls into no bin (the focal-calibration line)
"""

from typing import Literal

import numpy as np
from jaxtyping import Float, Shaped

from mixcal.judging.metrics.partition import Partition
from mixcal.judging.metrics.reliability import Reliability

Edges = Literal["rank", "midpoint", "quantile", "percentile", "least_apart", "interp"]
Adaptive = Edges | Literal["split"]


def equal_mass(
    confidence: Float[np.ndarray, " n"],
    right: Shaped[np.ndarray, " n"],
    *,
    bins: int = 15,
    edges: Adaptive = "rank",
) -> Reliability:
    """Reliability over bins of equal mass; with "interp" it holds fewer samples than were given."""
    if edges == "split":
        return _split(confidence, right, bins)
    partition = equal_mass_partition(confidence, bins=bins, edges=edges)
    if edges == "interp":
        kept = confidence > partition.edges[0]
        confidence, right = confidence[kept], right[kept]
    return Reliability.of_confidence(confidence, right, bins=partition)


def adaptive_error(
    confidence: Float[np.ndarray, " n"],
    right: Shaped[np.ndarray, " n"],
    *,
    bins: int = 15,
    edges: Adaptive = "rank",
) -> float:
    """Adaptive ECE: Σ |B_m| / n · |conf(B_m) − acc(B_m)| over bins of equal mass."""
    made = equal_mass(confidence, right, bins=bins, edges=edges)
    return made.expected_error() * made.n / max(len(confidence), 1)


def equal_mass_partition(
    confidence: Float[np.ndarray, " n"],
    *,
    bins: int = 15,
    edges: Edges = "rank",
) -> Partition:
    """Edges between which equally many samples lie; fewer bins where samples or values are few."""
    if edges in ("quantile", "percentile", "least_apart"):
        levels = np.linspace(0, 1, bins + (edges != "least_apart"))
        inner = np.quantile(confidence.astype(np.float64), levels)[:-1]
        inner = inner if edges == "least_apart" else inner[1:]
        return Partition((0.0, *inner.tolist(), 1.0), "left" if edges == "quantile" else "right")
    ordered = np.sort(confidence).astype(np.float64)
    n = len(ordered)
    if edges == "interp":
        whole = np.interp(np.linspace(0, n, bins + 1), np.arange(n), ordered)
        return Partition(tuple(whole.tolist()))
    ends = _run_ends(n, bins)[:-1]
    inner = ordered[ends - 1]
    if edges == "midpoint":
        inner = (inner + ordered[ends]) / 2
    # A run that ends within the largest value has nothing after it.
    inner = np.unique(inner[inner < ordered[-1]])
    return Partition((0.0, *inner.tolist(), 1.0))


def _split(
    confidence: Float[np.ndarray, " n"], right: Shaped[np.ndarray, " n"], bins: int
) -> Reliability:
    order = np.argsort(confidence, kind="stable")
    ends = _run_ends(len(order), bins)
    place = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    partition = Partition(tuple(float(edge) for edge in range(len(ends) + 1)))
    return Reliability.of_places(place, confidence[order], right[order], partition)


def _run_ends(n: int, bins: int) -> Shaped[np.ndarray, " m"]:
    """Where each of `bins` runs ends; the first n mod bins are one longer."""
    bins = min(bins, n)
    return np.cumsum(n // bins + (np.arange(bins) < n % bins))
