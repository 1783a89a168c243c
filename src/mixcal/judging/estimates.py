"""Every metric of one set of predictions with its interval, by any package's convention."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Shaped

from mixcal.core.predictions import Predictions
from mixcal.judging.metrics.classwise import ClasswiseReliability
from mixcal.judging.metrics.conventions import Convention
from mixcal.judging.metrics.equal_mass import equal_mass
from mixcal.judging.metrics.intervals import Estimate, mean_interval, share_interval
from mixcal.judging.metrics.kernel_density import kernel_density_interval
from mixcal.judging.metrics.ranking import (
    confidence_auroc_interval,
    kolmogorov_smirnov_interval,
    risk_coverage_interval,
    trapezoids_under_risk_coverage,
)
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.metrics.reliability_intervals import (
    classwise_interval,
    error_interval,
    reliability_intervals,
)
from mixcal.judging.metrics.smooth import smooth_interval
from mixcal.judging.samples import Samples

# How each interval is made; docs/metrics.md says what they cover.
INVERTED = "inverted test"
INTERVALS: Mapping[str, str] = {
    "accuracy": "Wilson",
    "error": "Wilson",
    "nll": "Student",
    "brier": "Student",
    "ece": INVERTED,
    "adaptive_ece": INVERTED,
    "classwise_ece": INVERTED,
    "mce": "union of Wilson intervals",
    "rms_ce": INVERTED,
    "ace": INVERTED,
    "oe": INVERTED,
    "ue": INVERTED,
    "oe_weighted": INVERTED,
    "ue_weighted": INVERTED,
    "debiased_ece": INVERTED,
    "smooth_ece": INVERTED,
    "kde_ece": INVERTED,
    "ks": INVERTED,
    "aurc": "influence function",
    "confidence_auroc": "DeLong",
    "mean_confidence": "Student",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """The metrics of one set of predictions: `made()` holds all of `INTERVALS`."""

    predictions: Predictions
    samples: Samples
    like: Convention
    bins: int = 15
    level: float = 0.95

    def made(self) -> dict[str, Estimate]:
        """Every metric of `INTERVALS`, in its order."""
        found = self._of_samples() | self._of_bins() | self._of_order()
        return {name: found[name] for name in INTERVALS}

    @property
    def sums(self) -> Reliability:
        """The bins all binned metrics of the top label come from."""
        return Reliability.of_confidence(
            self.samples.confidence, self.samples.right, bins=self.like.partition(self.bins)
        )

    def _of_samples(self) -> dict[str, Estimate]:
        samples, level = self.samples, self.level
        hits, n = int(samples.right.sum()), len(samples)
        scale = self.like.brier_scale(self.predictions.scores.shape[1])
        confidence = samples.confidence.astype(np.float64)
        log_losses = self.like.log_losses(samples.log_loss, self.predictions.scores.dtype)
        return {
            "accuracy": share_interval(hits, n, level=level),
            "error": share_interval(n - hits, n, level=level),
            "nll": mean_interval(log_losses, level=level, lowest=0.0),
            "brier": mean_interval(
                samples.brier / scale, level=level, lowest=0.0, highest=2.0 / scale
            ),
            "mean_confidence": mean_interval(confidence, level=level, lowest=0.0, highest=1.0),
        }

    def _of_bins(self) -> dict[str, Estimate]:
        predictions, like, level = self.predictions, self.like, self.level
        classwise = ClasswiseReliability.of_scores(
            predictions.scores,
            predictions.labels,
            predictions.kind,
            bins=like.classwise_partition(self.bins),
        )
        found = of_bins(self.sums, like=like, level=level)
        return found | {"classwise_ece": of_classes(classwise, like=like, level=level)}

    def _of_order(self) -> dict[str, Estimate]:
        pair = self.samples.confidence, self.samples.right
        return {
            name: interval(*pair, like=self.like, bins=self.bins, level=self.level)
            for name, interval in OF_ORDER.items()
        }


def of_bins(sums: Reliability, *, like: Convention, level: float = 0.95) -> dict[str, Estimate]:
    """What comes from bins of the top label."""
    found = reliability_intervals(sums, level=level, singletons=like.singletons)
    if like.oe_weighted:
        found |= {"oe": found["oe_weighted"], "ue": found["ue_weighted"]}
    if like.mce_weighted:
        found["mce"] = found["mce_weighted"]
    return found


def of_classes(sums: ClasswiseReliability, *, like: Convention, level: float = 0.95) -> Estimate:
    """Classwise ECE."""
    found = classwise_interval(
        sums.without_first_bin() if like.zeros_dropped else sums, level=level
    )
    return scaled(found, len(sums.counts) if like.classwise == "sum" else 1.0)


def adaptive(
    confidence: Float[np.ndarray, " n"],
    right: Shaped[np.ndarray, " n"],
    *,
    like: Convention,
    bins: int = 15,
    level: float = 0.95,
) -> Estimate:
    """Adaptive ECE."""
    made = equal_mass(confidence, right, bins=bins, edges=like.adaptive)
    # The paper line's edges leave out the least confident sample, but divide by n.
    return scaled(error_interval(made, level=level), made.n / len(confidence))


def risk_coverage_area(
    confidence: Float[np.ndarray, " n"],
    right: Shaped[np.ndarray, " n"],
    *,
    like: Convention,
    bins: int = 15,
    level: float = 0.95,
) -> Estimate:
    """AURC."""
    aurc = risk_coverage_interval(confidence, right, level=level)
    if like.aurc == "mean":
        return aurc
    shift = trapezoids_under_risk_coverage(confidence, right) - aurc.value
    return Estimate(aurc.value + shift, aurc.low + shift, aurc.high + shift)


def whoever(
    interval: Callable[..., Estimate],
) -> Callable[..., Estimate]:
    """An interval on which all conventions agree."""

    def made(
        confidence: Float[np.ndarray, " n"],
        right: Shaped[np.ndarray, " n"],
        *,
        like: Convention,
        bins: int = 15,
        level: float = 0.95,
    ) -> Estimate:
        return interval(confidence, right, level=level)

    return made


# What needs confidences and hits themselves, and not only their sums.
OF_ORDER: Mapping[str, Callable[..., Estimate]] = {
    "adaptive_ece": adaptive,
    "smooth_ece": whoever(smooth_interval),
    "kde_ece": whoever(kernel_density_interval),
    "ks": whoever(kolmogorov_smirnov_interval),
    "aurc": risk_coverage_area,
    "confidence_auroc": whoever(confidence_auroc_interval),
}


def scaled(estimate: Estimate, factor: float) -> Estimate:
    """The estimate of a multiple."""
    return replace(
        estimate,
        value=estimate.value * factor,
        low=estimate.low * factor,
        high=estimate.high * factor,
    )
