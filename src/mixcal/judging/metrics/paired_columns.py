"""Metrics as norms of means over samples: a few columns a sample, which resample as one product.

    means          the value of each sample                                           Σ x
    AURC, AUROC    value + influence of each sample                                   Σ x
    ECE, adaptive  x_i = 1[sample i in bin m] (confidence − right)                    Σ |x|
    OE, UE         the same, times ±1 (and the bin's mean confidence, if weighted)    Σ max(x, 0)
    RMS error      √w_m g_m + (x_i − 1_im g_m) / √w_m + g_m (1_im − w_m) / (2 √w_m)   √ Σ x²

w_m and g_m are share and gap of bin m; the last line is the linearization of √w_m g_m. Bins of
equal mass stay where the observed confidences put them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from mixcal.judging.metrics.equal_mass import equal_mass_partition
from mixcal.judging.metrics.inversion import (
    Norm,
    Sides,
    root_of_squares,
    sum_of_absolutes,
    sum_of_positives,
)
from mixcal.judging.metrics.partition import Partition
from mixcal.judging.metrics.ranking import confidence_auroc_influence, risk_coverage_influence
from mixcal.judging.samples import Samples

Columns = Callable[[Samples], Float[np.ndarray, "n m"]]

# What has a paired difference by its name.
PAIRED = (
    "accuracy",
    "error",
    "nll",
    "brier",
    "mean_confidence",
    "ece",
    "adaptive_ece",
    "rms_ce",
    "oe",
    "ue",
    "oe_weighted",
    "ue_weighted",
    "aurc",
    "confidence_auroc",
)


@dataclass(frozen=True, slots=True)
class Summed:
    """A metric that is a norm of means over samples: columns per sample, and the norm."""

    columns: Columns
    norm: Norm
    sides: Sides | None = None


def summed_metric(name: str, *, bins: int | Partition = 15) -> Summed | None:
    """The quick form of a metric, where it has one."""
    partition = bins if isinstance(bins, Partition) else Partition.equal(bins)

    def fixed(samples: Samples) -> Partition:
        return partition

    def mass(samples: Samples) -> Partition:
        return equal_mass_partition(samples.confidence, bins=partition.bins)

    over = partial(_one_sided, fixed, 1.0)
    under = partial(_one_sided, fixed, -1.0)
    table = {
        "accuracy": Summed(lambda s: s.right[:, None].astype(np.float64), signed),
        "error": Summed(lambda s: 1.0 - s.right[:, None], signed),
        "nll": Summed(lambda s: s.log_loss[:, None], signed),
        "brier": Summed(lambda s: s.brier[:, None], signed),
        "mean_confidence": Summed(lambda s: s.confidence[:, None].astype(np.float64), signed),
        "ece": Summed(partial(_gaps, fixed), sum_of_absolutes, "both"),
        "adaptive_ece": Summed(partial(_gaps, mass), sum_of_absolutes, "both"),
        "rms_ce": Summed(partial(_rooted, fixed), root_of_squares, "both"),
        "oe": Summed(partial(over, weighted=False), sum_of_positives, "positive"),
        "ue": Summed(partial(under, weighted=False), sum_of_positives, "positive"),
        "oe_weighted": Summed(partial(over, weighted=True), sum_of_positives, "positive"),
        "ue_weighted": Summed(partial(under, weighted=True), sum_of_positives, "positive"),
        "aurc": Summed(_risk_coverage, signed),
        "confidence_auroc": Summed(_auroc, signed),
    }
    return table.get(name)


def signed(rows: Float[np.ndarray, "r m"]) -> Float[np.ndarray, " r"]:
    """Σ x."""
    return rows.sum(1)


def _gaps(binning: Callable[[Samples], Partition], samples: Samples) -> Float[np.ndarray, "n m"]:
    partition = binning(samples)
    columns = np.zeros((len(samples), partition.bins))
    columns[np.arange(len(samples)), partition.place(samples.confidence)] = _gap(samples)
    return columns


def _one_sided(
    binning: Callable[[Samples], Partition], sign: float, samples: Samples, *, weighted: bool
) -> Float[np.ndarray, "n m"]:
    columns = sign * _gaps(binning, samples)
    if not weighted:
        return columns
    place = binning(samples).place(samples.confidence)
    counts, claimed = _sums(place, samples.confidence.astype(np.float64), columns.shape[1])
    return columns * (claimed / np.maximum(counts, 1))


def _rooted(binning: Callable[[Samples], Partition], samples: Samples) -> Float[np.ndarray, "n m"]:
    partition = binning(samples)
    place, gap = partition.place(samples.confidence), _gap(samples)
    counts, sums = _sums(place, gap, partition.bins)
    share, mean = counts / len(samples), sums / np.maximum(counts, 1)
    root = np.sqrt(np.maximum(share, 1 / len(samples)))
    # Of an empty bin the mean is 0, and so is the column.
    columns = np.tile(root * mean - mean * share / (2 * root), (len(samples), 1))
    columns[np.arange(len(samples)), place] += (gap - mean[place] / 2) / root[place]
    return columns


def _risk_coverage(samples: Samples) -> Float[np.ndarray, "n 1"]:
    value, influence = risk_coverage_influence(samples.confidence, samples.right)
    return (value + influence)[:, None]


def _auroc(samples: Samples) -> Float[np.ndarray, "n 1"]:
    value, influence = confidence_auroc_influence(samples.confidence, samples.right)
    return (value + influence)[:, None]


def _gap(samples: Samples) -> Float[np.ndarray, " n"]:
    return samples.confidence.astype(np.float64) - samples.right


def _sums(
    place: Int[np.ndarray, " n"], values: Float[np.ndarray, " n"], bins: int
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    counts = np.bincount(place, minlength=bins).astype(np.float64)
    return counts, np.bincount(place, values, bins)
