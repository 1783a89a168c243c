"""Out-of-distribution detection: how well a score tells foreign samples from familiar ones.

Scores are larger the more foreign a sample looks: 1 − max p and entropy (Hendrycks & Gimpel, ICLR
2017; arXiv:1610.02136v3), −log Σ exp z, "energy" (Liu et al., NeurIPS 2020; arXiv:2010.03759v4),
and −max z (Hendrycks et al., ICML 2022; arXiv:1911.11132v4). As in the papers, with T = 1.

Which side counts as positive changes the FPR@95 and the AUPR, so both are given: out = foreign
samples are to be found (pytorch-ood, OpenOOD, torch-uncertainty); in = familiar ones are (ODIN).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Kind, Predictions, softmax
from mixcal.judging.metrics.intervals import Estimate, normal_quantile, share_interval
from mixcal.judging.metrics.ranking import auroc_interval

Score = Literal["max_softmax", "entropy", "energy", "max_logit"]
# Whether it needs logits.
SCORES: Mapping[Score, bool] = {
    "max_softmax": False,
    "entropy": False,
    "energy": True,
    "max_logit": True,
}
Area = Literal["average_precision", "trapezoid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """How well foreign and familiar samples are told apart."""

    auroc: Estimate
    aupr_out: Estimate
    aupr_in: Estimate
    fpr95_out: Estimate
    fpr95_in: Estimate
    familiar: int
    foreign: int

    @classmethod
    def of(
        cls,
        familiar: Float[np.ndarray, " n"],
        foreign: Float[np.ndarray, " m"],
        *,
        level: float = 0.95,
        area: Area = "average_precision",
    ) -> "Detection":
        """From the scores of both; larger means more foreign."""
        return cls(
            auroc=auroc_interval(foreign, familiar, level=level),
            aupr_out=precision_recall_interval(foreign, familiar, level=level, area=area),
            aupr_in=precision_recall_interval(-familiar, -foreign, level=level, area=area),
            fpr95_out=false_positive_interval(foreign, familiar, level=level),
            fpr95_in=false_positive_interval(-familiar, -foreign, level=level),
            familiar=len(familiar),
            foreign=len(foreign),
        )


def foreignness(predictions: Predictions, score: Score) -> Float[np.ndarray, " n"]:
    """The score of each sample; energy and max_logit need logits."""
    where = predictions.source or "predictions"
    return foreignness_of(predictions.scores, predictions.kind, score, where=where)


def foreignness_of(
    scores: Float[np.ndarray, "n k"], kind: Kind, score: Score, *, where: str
) -> Float[np.ndarray, " n"]:
    """The same of plain arrays."""
    if score in ("energy", "max_logit") and kind != "logits":
        raise BadInput(
            f"{where}: {score} needs logits, these are probabilities; use max_softmax or entropy."
        )
    wide = scores.astype(np.float64)
    if score == "max_logit":
        return -wide.max(1)
    if score == "energy":
        highest = wide.max(1)
        return -highest - np.log(np.exp(wide - highest[:, None]).sum(1))
    probs = softmax(wide) if kind == "logits" else wide
    if score == "max_softmax":
        return 1 - probs.max(1)
    return -(probs * np.log(np.maximum(probs, 1e-300))).sum(1)


def false_positive_rate(
    positive: Float[np.ndarray, " p"], negative: Float[np.ndarray, " q"], *, recall: float = 0.95
) -> float:
    """The share of negatives at or above the highest threshold that finds enough positives."""
    found = int(np.ceil(recall * len(positive)))
    threshold = np.sort(positive)[::-1][found - 1]
    return float((negative >= threshold).mean())


def false_positive_interval(
    positive: Float[np.ndarray, " p"],
    negative: Float[np.ndarray, " q"],
    *,
    recall: float = 0.95,
    level: float = 0.95,
) -> Estimate:
    """The rate with an interval for both draws: of the negatives, and of the threshold.

    The rate at a known threshold has Wilson's interval, and the threshold, a quantile of the
    positives, that of its order statistics; the distances of their ends from the rate are put
    together as variances are.
    """
    value, q, p = (
        false_positive_rate(positive, negative, recall=recall),
        len(negative),
        len(positive),
    )
    share = share_interval(round(value * q), q, level=level)
    reach = normal_quantile(level) * np.sqrt(p * recall * (1 - recall)) + 0.5
    below = int(np.floor(p * (1 - recall) - reach))
    above = int(np.ceil(p * (1 - recall) + reach))
    # Outside of what was drawn the threshold may lie anywhere.
    thresholds = np.concatenate([[-np.inf], np.sort(positive), [np.inf]])
    most, least = (
        float((negative >= thresholds[np.clip(rank, 0, p + 1)]).mean())
        for rank in (below, above + 1)
    )
    low = value - np.hypot(value - share.low, value - min(least, value))
    high = value + np.hypot(share.high - value, max(most, value) - value)
    return Estimate(value, max(float(low), 0.0), min(float(high), 1.0))


def precision_recall_interval(
    positive: Float[np.ndarray, " p"],
    negative: Float[np.ndarray, " q"],
    *,
    level: float = 0.95,
    area: Area = "average_precision",
) -> Estimate:
    """AUPR with the normal interval from its influence function, on the logit scale.

    (Boyd, Eng & Page, ECML 2013.) The share of positives counts as known. Where both are told
    apart without an exception there is no variance to see: the lower end is then the area that is
    left if the largest share of negatives that may have escaped (Clopper & Pearson) ranks first.
    """
    value = area_under_precision_recall(positive, negative, area=area)
    p, q = len(positive), len(negative)
    z = normal_quantile(level)
    if value >= 1:
        escaped = q * (1 - ((1 - level) / 2) ** (1 / q)) / p
        return Estimate(value, float(1 - escaped * np.log1p(1 / escaped)), 1.0)
    found, alarms = _at_or_above(positive, positive), _at_or_above(negative, positive)
    total = p * found + q * alarms
    precision = p * found / total
    # How the precision at each positive's score follows the two survival functions.
    by_found, by_alarms = p * q * alarms / total**2, -p * q * found / total**2
    of_positive = precision - precision.mean()
    of_positive += _sum_below(positive, positive, by_found) - (by_found * found).mean()
    of_negative = _sum_below(negative, positive, by_alarms) - (by_alarms * alarms).mean()
    variance = (of_positive**2).mean() / p + (of_negative**2).mean() / q
    inner = min(max(value, 1e-12), 1 - 1e-12)
    half = z * np.sqrt(variance) / (inner * (1 - inner))
    center = np.log(inner / (1 - inner))
    low, high = 1 / (1 + np.exp(-(center + np.array([-half, half]))))
    return Estimate(value, min(float(low), value), max(float(high), value))


def _at_or_above(
    these: Float[np.ndarray, " m"], thresholds: Float[np.ndarray, " p"]
) -> Float[np.ndarray, " p"]:
    """The share of these at or above each threshold."""
    return 1 - np.searchsorted(np.sort(these), thresholds, side="left") / len(these)


def _sum_below(
    these: Float[np.ndarray, " m"],
    thresholds: Float[np.ndarray, " p"],
    values: Float[np.ndarray, " p"],
) -> Float[np.ndarray, " m"]:
    """For each of these, the values of the thresholds it reaches, over the number of all."""
    order = np.argsort(thresholds)
    sums = np.append(0.0, np.cumsum(values[order])) / len(thresholds)
    return sums[np.searchsorted(thresholds[order], these, side="right")]


def area_under_precision_recall(
    positive: Float[np.ndarray, " p"],
    negative: Float[np.ndarray, " q"],
    *,
    area: Area = "average_precision",
) -> float:
    """AUPR over the thresholds that occur, by steps or by trapezoids from recall 0, precision 1."""
    scores = np.concatenate([positive, negative])
    order = np.argsort(-scores, kind="stable")
    last = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    hits = np.cumsum(order < len(positive))[last]
    precision = hits / (last + 1)
    recall = hits / len(positive)
    if area == "trapezoid":
        return float(np.trapezoid(np.append(1.0, precision), np.append(0.0, recall)))
    return float((np.diff(recall, prepend=0.0) * precision).sum())
