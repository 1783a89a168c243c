"""Means over samples, and what needs the order of them, as torchmetrics' `Metric`."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Kind
from mixcal.judging.estimates import OF_ORDER
from mixcal.judging.metrics.conventions import Convention, convention
from mixcal.judging.metrics.equal_mass import adaptive_error
from mixcal.judging.metrics.intervals import Estimate, mean_of_moments, share_interval
from mixcal.judging.metrics.kernel_density import kernel_density_error
from mixcal.judging.metrics.ranking import (
    area_under_risk_coverage,
    confidence_auroc,
    kolmogorov_smirnov_error,
    trapezoids_under_risk_coverage,
)
from mixcal.judging.metrics.scores import top_k_right
from mixcal.judging.metrics.smooth import smooth_error
from mixcal.judging.metrics.torchmetrics_state import (
    UNKNOWN,
    Metric,
    add_kind,
    add_list,
    add_sum,
    check_kind,
    checked,
    joined,
    samples_of,
    scalar_of,
    tensor_of,
    unseen,
)
from mixcal.judging.samples import Samples

# How far each mean can go.
MEANS = {
    "accuracy": 1.0,
    "error": 1.0,
    "top_k": 1.0,
    "nll": np.inf,
    "brier": 2.0,
    "mean_confidence": 1.0,
}
# Without the intervals, which take longer.
VALUES: Mapping[str, Callable[..., float]] = {
    "smooth_ece": smooth_error,
    "kde_ece": kernel_density_error,
    "ks": kolmogorov_smirnov_error,
    "confidence_auroc": confidence_auroc,
}
HIGHER_IS_BETTER = ("accuracy", "top_k", "confidence_auroc")


class MeanScore(Metric):
    """Accuracy, error, top-k accuracy, NLL, Brier score or mean confidence."""

    is_differentiable = False
    full_state_update = False

    def __init__(
        self, metric: str, *, kind: Kind, like: str = "mixcal", k: int = 5, **options: Any
    ) -> None:
        super().__init__(**options)
        if metric not in MEANS:
            raise BadInput(f"{metric!r} is no mean over samples; known: {', '.join(MEANS)}.")
        self.metric, self.rules, self.k = metric, convention(like), k
        self.highest = MEANS[metric]
        add_kind(self, kind)
        add_sum(self, "samples", whole=True)
        for name in ("total", "squares"):
            add_sum(self, name)

    @property
    def higher_is_better(self) -> bool:
        """Of accuracies."""
        return self.metric in HIGHER_IS_BETTER

    def update(self, scores: Float[Tensor, "n k"], labels: Int[Tensor, " n"]) -> None:
        array, own = checked(self, scores, labels)
        if self.metric == "top_k":
            values = top_k_right(array, own, k=self.k).astype(np.float64)
        else:
            values = self._values(Samples.of_scores(array, own, self.kind), array)
        self.samples += len(values)
        self.total += float(values.sum())
        self.squares += float(values @ values)

    def compute(self) -> Float[Tensor, ""]:
        if unseen(self):
            return scalar_of(math.nan, self)
        check_kind(self)
        return (self.total / self.samples).clone()

    def estimate(self, level: float = 0.95) -> Estimate:
        """The value with its interval, over all processes."""
        with self.sync_context():
            if unseen(self):
                return UNKNOWN
            check_kind(self)
            n, total, squares = int(self.samples), float(self.total), float(self.squares)
        if self.metric in ("accuracy", "error", "top_k"):
            return share_interval(round(total), n, level=level)
        mean = total / n
        deviation = float(np.sqrt(max(squares - total * mean, 0.0) / max(n - 1, 1)))
        return mean_of_moments(mean, deviation, n, level=level, lowest=0.0, highest=self.highest)

    def _values(
        self, samples: Samples, scores: Float[np.ndarray, "n k"]
    ) -> Float[np.ndarray, " n"]:
        scale = self.rules.brier_scale(scores.shape[1])
        if self.metric == "brier":
            self.highest = 2.0 / scale
        return {
            "accuracy": lambda: samples.right.astype(np.float64),
            "error": lambda: 1.0 - samples.right,
            "nll": lambda: self.rules.log_losses(samples.log_loss, scores.dtype),
            "brier": lambda: samples.brier / scale,
            "mean_confidence": lambda: samples.confidence.astype(np.float64),
        }[self.metric]()


class OrderedScore(Metric):
    """Adaptive, smooth or kernel-density ECE, KS, AURC or AUROC: keeps every sample."""

    is_differentiable = False
    full_state_update = False

    def __init__(
        self,
        metric: str,
        *,
        kind: Kind,
        bins: int | None = None,
        like: str = "mixcal",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if metric not in OF_ORDER:
            raise BadInput(f"{metric!r} needs no order; known: {', '.join(OF_ORDER)}.")
        self.metric, self.rules = metric, convention(like)
        self.bins = self.rules.bins if bins is None else bins
        add_kind(self, kind)
        add_list(self, "confidence", "right")

    @property
    def higher_is_better(self) -> bool:
        """Of the AUROC."""
        return self.metric in HIGHER_IS_BETTER

    def update(self, scores: Float[Tensor, "n k"], labels: Int[Tensor, " n"]) -> None:
        samples = samples_of(self, scores, labels)
        self.confidence.append(tensor_of(samples.confidence, self))
        self.right.append(tensor_of(samples.right, self))

    def compute(self) -> Float[Tensor, ""]:
        if unseen(self):
            return scalar_of(math.nan, self)
        return scalar_of(ordered_value(self.metric, *self._pair(), self.rules, self.bins), self)

    def estimate(self, level: float = 0.95) -> Estimate:
        """The value with its interval, over all processes."""
        with self.sync_context():
            if unseen(self):
                return UNKNOWN
            pair = self._pair()
        return OF_ORDER[self.metric](*pair, like=self.rules, bins=self.bins, level=level)

    def _pair(self) -> tuple[Float[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
        check_kind(self)
        return joined(self.confidence), joined(self.right).astype(bool)


def ordered_value(
    metric: str,
    confidence: Float[np.ndarray, " n"],
    right: Bool[np.ndarray, " n"],
    rules: Convention,
    bins: int,
) -> float:
    """One of `OF_ORDER` without its interval."""
    if metric == "adaptive_ece":
        return adaptive_error(confidence, right, bins=bins, edges=rules.adaptive)
    if metric == "aurc":
        mean = rules.aurc == "mean"
        return (area_under_risk_coverage if mean else trapezoids_under_risk_coverage)(
            confidence, right
        )
    return VALUES[metric](confidence, right)
