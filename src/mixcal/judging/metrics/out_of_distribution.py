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
from mixcal.judging.metrics.intervals import Estimate, share_interval
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
    aupr_out: float
    aupr_in: float
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
        out_rate = false_positive_rate(foreign, familiar)
        in_rate = false_positive_rate(-familiar, -foreign)
        n, m = len(familiar), len(foreign)
        return cls(
            auroc=auroc_interval(foreign, familiar, level=level),
            aupr_out=area_under_precision_recall(foreign, familiar, area=area),
            aupr_in=area_under_precision_recall(-familiar, -foreign, area=area),
            # The threshold counts as known: the interval is that of a share.
            fpr95_out=share_interval(round(out_rate * n), n, level=level),
            fpr95_in=share_interval(round(in_rate * m), m, level=level),
            familiar=n,
            foreign=m,
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
