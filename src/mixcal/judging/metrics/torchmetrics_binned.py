"""Errors from bins of equal width, as torchmetrics' `Metric`: their states do not grow with n."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Kind
from mixcal.judging.estimates import of_bins, of_classes
from mixcal.judging.metrics.classwise import ClasswiseReliability
from mixcal.judging.metrics.conventions import Convention, convention
from mixcal.judging.metrics.intervals import Estimate
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.metrics.torchmetrics_state import (
    UNKNOWN,
    Metric,
    add_kind,
    add_sum,
    array_of,
    check_kind,
    checked,
    samples_of,
    scalar_of,
    tensor_of,
    unseen,
)

BINNED: Mapping[str, Callable[..., float]] = {
    "ece": Reliability.expected_error,
    "mce": Reliability.maximum_error,
    "mce_weighted": partial(Reliability.maximum_error, weighted=True),
    "rms_ce": Reliability.root_mean_squared_error,
    "ace": Reliability.average_error,
    "oe": Reliability.overconfidence,
    "ue": Reliability.underconfidence,
    "oe_weighted": partial(Reliability.overconfidence, weighted=True),
    "ue_weighted": partial(Reliability.underconfidence, weighted=True),
    "debiased_ece": Reliability.debiased_error,
}


class BinnedError(Metric):
    """ECE, MCE, RMS, ACE, OE, UE or the debiased error, from bins of equal width."""

    is_differentiable = False
    higher_is_better = False
    full_state_update = False

    def __init__(
        self,
        metric: str = "ece",
        *,
        kind: Kind,
        bins: int | None = None,
        like: str = "mixcal",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        rules = convention(like)
        self.metric, self.rules = _meant(metric, rules), rules
        add_kind(self, kind)
        self.partition = rules.partition(rules.bins if bins is None else bins)
        for name in ("counts", "right"):
            add_sum(self, name, self.partition.bins, whole=True)
        for name in ("confidence", "confidence_squared", "confidence_of_right"):
            add_sum(self, name, self.partition.bins)

    def update(self, scores: Float[Tensor, "n k"], labels: Int[Tensor, " n"]) -> None:
        samples = samples_of(self, scores, labels)
        sums = Reliability.of_confidence(samples.confidence, samples.right, bins=self.partition)
        self.counts += tensor_of(sums.counts, self)
        self.right += tensor_of(sums.right, self)
        self.confidence += tensor_of(sums.confidence, self)
        self.confidence_squared += tensor_of(sums.confidence_squared, self)
        self.confidence_of_right += tensor_of(sums.confidence_of_right, self)

    def compute(self) -> Float[Tensor, ""]:
        if unseen(self):
            return scalar_of(math.nan, self)
        sums = self.reliability()
        if self.metric == "debiased_ece":
            value = sums.debiased_error(singletons=self.rules.singletons)
        else:
            value = BINNED[self.metric](sums)
        return scalar_of(value, self)

    def estimate(self, level: float = 0.95) -> Estimate:
        """The value with its interval, over all processes."""
        with self.sync_context():
            if unseen(self):
                return UNKNOWN
            sums = self.reliability()
        return of_bins(sums, like=self.rules, level=level)[self.metric]

    def reliability(self) -> Reliability:
        """The sums themselves: what a diagram draws, and what adds to sums from elsewhere."""
        check_kind(self)
        return Reliability(
            counts=array_of(self.counts),
            right=array_of(self.right),
            confidence=array_of(self.confidence),
            confidence_squared=array_of(self.confidence_squared),
            confidence_of_right=array_of(self.confidence_of_right),
            partition=self.partition,
        )


class ClasswiseError(Metric):
    """Classwise ECE."""

    is_differentiable = False
    higher_is_better = False
    full_state_update = False

    def __init__(
        self,
        classes: int,
        *,
        kind: Kind,
        bins: int | None = None,
        like: str = "mixcal",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        rules = convention(like)
        self.rules = rules
        add_kind(self, kind)
        self.partition = rules.classwise_partition(rules.bins if bins is None else bins)
        add_sum(self, "counts", classes, self.partition.bins, whole=True)
        add_sum(self, "positives", classes, self.partition.bins, whole=True)
        add_sum(self, "confidence", classes, self.partition.bins)
        add_sum(self, "samples", whole=True)

    def update(self, scores: Float[Tensor, "n k"], labels: Int[Tensor, " n"]) -> None:
        if scores.shape[1] != len(self.counts):
            raise BadInput(
                f"scores of {scores.shape[1]} classes came to a metric of {len(self.counts)}; "
                "give the right number of classes."
            )
        array, own = checked(self, scores, labels)
        sums = ClasswiseReliability.of_scores(array, own, self.kind, bins=self.partition)
        self.counts += tensor_of(sums.counts, self)
        self.positives += tensor_of(sums.positives, self)
        self.confidence += tensor_of(sums.confidence, self)
        self.samples += sums.n

    def compute(self) -> Float[Tensor, ""]:
        if unseen(self):
            return scalar_of(math.nan, self)
        sums = self.reliability()
        if self.rules.zeros_dropped:
            sums = sums.without_first_bin()
        factor = len(self.counts) if self.rules.classwise == "sum" else 1
        return scalar_of(sums.expected_error() * factor, self)

    def estimate(self, level: float = 0.95) -> Estimate:
        """The value with its interval, over all processes."""
        with self.sync_context():
            if unseen(self):
                return UNKNOWN
            sums = self.reliability()
        return of_classes(sums, like=self.rules, level=level)

    def reliability(self) -> ClasswiseReliability:
        """The sums themselves."""
        check_kind(self)
        return ClasswiseReliability(
            counts=array_of(self.counts),
            positives=array_of(self.positives),
            confidence=array_of(self.confidence),
            partition=self.partition,
            n=int(self.samples),
        )


def _meant(metric: str, rules: Convention) -> str:
    """What a convention means by the name."""
    if metric not in BINNED:
        raise BadInput(f"{metric!r} does not come from bins; known: {', '.join(BINNED)}.")
    weighted = rules.oe_weighted if metric in ("oe", "ue") else rules.mce_weighted
    return f"{metric}_weighted" if weighted and metric in ("oe", "ue", "mce") else metric
