"""The parts of the top-label Brier score, each with its interval.

    Brier score = reliability − resolution + uncertainty + what lies within the bins

(Murphy, Journal of Applied Meteorology 1973; the part within bins as in Stephenson, Coelho and
Jolliffe, Weather and Forecasting 2008.) With r the gap, a the accuracy of a bin and c its
confidences: reliability Σ share r², resolution Σ share (a − accuracy)², uncertainty
accuracy (1 − accuracy), within Σ share (var c − 2 cov(c, right)). As in the papers; the intervals
are ours.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from mixcal.judging.metrics.intervals import Estimate, mean_interval, share_interval
from mixcal.judging.metrics.inversion import norm_interval, normal_draws, root_of_squares
from mixcal.judging.metrics.partition import Partition
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.metrics.reliability_intervals import error_interval
from mixcal.judging.metrics.scores import top_label_brier_scores


@dataclass(frozen=True, slots=True)
class BrierParts:
    """Brier score = reliability − resolution + uncertainty + what lies within the bins."""

    reliability: float
    resolution: float
    uncertainty: float
    within: float

    @property
    def score(self) -> float:
        """The sum of the parts."""
        return self.reliability - self.resolution + self.uncertainty + self.within


def brier_decomposition(
    confidence: Float[np.ndarray, " n"], right: Bool[np.ndarray, " n"], *, bins: int = 15
) -> BrierParts:
    """Murphy's decomposition over bins of confidence."""
    sums = Reliability.of_confidence(confidence, right, bins=bins)
    counts = np.maximum(sums.counts, 1)
    overall = sums.accuracy()
    variance = sums.confidence_squared / counts - sums.confidences**2
    covariance = sums.confidence_of_right / counts - sums.confidences * sums.accuracies
    return BrierParts(
        reliability=sums.squared_error(),
        resolution=float((sums.shares * (sums.accuracies - overall) ** 2).sum()),
        uncertainty=overall * (1 - overall),
        within=float((sums.shares * (variance - 2 * covariance)).sum()),
    )


def brier_intervals(
    confidence: Float[np.ndarray, " n"],
    right: Bool[np.ndarray, " n"],
    *,
    bins: int = 15,
    level: float = 0.95,
) -> dict[str, Estimate]:
    """The score and its parts: reliability and resolution by inversion, as squares of norms."""
    partition = Partition.equal(bins)
    sums = Reliability.of_confidence(confidence, right, bins=partition)
    parts = brier_decomposition(confidence, right, bins=bins)
    scores = top_label_brier_scores(confidence, right)
    root = error_interval(sums, "rms_ce", level=level)
    place = partition.place(confidence)
    off_middle = confidence - sums.confidences[place]
    within = off_middle * (off_middle - 2 * (right - sums.accuracies[place]))
    spread = mean_interval(within, level=level)
    return {
        "score": mean_interval(scores, level=level, lowest=0.0, highest=1.0),
        "reliability": Estimate(parts.reliability, root.low**2, root.high**2),
        "resolution": _resolution(sums, parts.resolution, level),
        "uncertainty": _uncertainty(sums, parts.uncertainty, level),
        "within": Estimate(
            parts.within, min(spread.low, parts.within), max(spread.high, parts.within)
        ),
    }


def _resolution(sums: Reliability, value: float, level: float) -> Estimate:
    """The square of a norm: that of what sets the accuracy of each bin apart."""
    counts, overall = np.maximum(sums.counts, 1), sums.accuracy()
    deviation = np.where(sums.counts > 0, sums.accuracies - overall, 0.0)
    apart = np.sqrt(sums.shares) * deviation
    # One pseudo-sample of the overall accuracy: three right predictions are no certainty.
    share = (sums.right + overall) / (counts + 1)
    variance = share * (1 - share) * (sums.counts > 0) + (1 - sums.shares) * deviation**2 / 4
    spread = np.sqrt(variance / max(sums.n, 1))
    noise = normal_draws(sums.bins) * spread
    found = norm_interval(float(np.sqrt(value)), apart, spread, noise, root_of_squares, level=level)
    return Estimate(value, min(found.low**2, value), max(min(found.high, 1.0) ** 2, value))


def _uncertainty(sums: Reliability, value: float, level: float) -> Estimate:
    """Of Wilson's interval of the accuracy."""
    share = share_interval(int(sums.right.sum()), sums.n, level=level)
    ends = [end * (1 - end) for end in (share.low, share.high)]
    top = 0.25 if share.low <= 0.5 <= share.high else max(ends)
    return Estimate(value, min(*ends, value), max(top, value))
