"""The metrics as torchmetrics' `Metric`, for Lightning and other loops; needs torchmetrics.

    self.ece = torchmetric("ece", kind="logits")        # any metric that `mixcal judge` prints
    self.log("ece", self.ece)                           # after self.ece(logits, labels)

`kind` says what the scores are; nobody guesses it. The numbers are those of `mixcal judge`, for the
same sums are added: `compute()` gives the value, `estimate()` also the interval. What each keeps:

    BinnedError     five numbers a bin, counts as int64 and sums as float64, whatever n
    ClasswiseError  three numbers a class and bin
    MeanScore       three numbers
    HumanScore      three numbers a bin, or one
    OrderedScore    confidence and hit of every sample: 5 bytes each, 9 of logits and of float64
    ForeignScore    one number and one bit of every sample
    ProximityError  as OrderedScore, and the features

The sums are made on the CPU, so an update waits for the device, as logging a number does.
"""

from typing import Any

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Kind
from mixcal.judging.estimates import OF_ORDER
from mixcal.judging.metrics.torchmetrics_binned import BINNED, BinnedError, ClasswiseError
from mixcal.judging.metrics.torchmetrics_compared import (
    ForeignScore,
    HumanScore,
    ProximityError,
)
from mixcal.judging.metrics.torchmetrics_sampled import MEANS, MeanScore, OrderedScore
from mixcal.judging.metrics.torchmetrics_state import Metric

__all__ = [
    "BinnedError",
    "ClasswiseError",
    "ForeignScore",
    "HumanScore",
    "MeanScore",
    "OrderedScore",
    "ProximityError",
    "torchmetric",
]


def torchmetric(
    name: str, *, kind: Kind, like: str = "mixcal", classes: int | None = None, **options: Any
) -> Metric:
    """The metric that `mixcal judge` calls so; "classwise_ece" needs the number of classes.

    Further options: `bins` of those that have bins, `k` of "top_k", and those of every `Metric`.
    """
    if name in BINNED:
        return BinnedError(name, kind=kind, like=like, **options)
    if name in OF_ORDER:
        return OrderedScore(name, kind=kind, like=like, **options)
    if name in MEANS:
        return MeanScore(name, kind=kind, like=like, **options)
    if name != "classwise_ece":
        raise BadInput(f"there is no metric {name!r}; take one that `mixcal judge` prints.")
    if classes is None:
        raise BadInput("classwise_ece counts by class; give classes=, their number.")
    return ClasswiseError(classes, kind=kind, like=like, **options)
