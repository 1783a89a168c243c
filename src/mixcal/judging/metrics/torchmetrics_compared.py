"""Against people, foreign samples and neighbors, as torchmetrics' `Metric`."""

import math
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Kind
from mixcal.judging.metrics.human import HumanReliability, check_shares, distances, log_probs
from mixcal.judging.metrics.out_of_distribution import Detection, Score, foreignness_of
from mixcal.judging.metrics.partition import Partition
from mixcal.judging.metrics.proximity import Variant, piece, proximity
from mixcal.judging.metrics.torchmetrics_state import (
    Metric,
    add_kind,
    add_list,
    add_sum,
    array_of,
    check_kind,
    joined,
    samples_of,
    scalar_of,
    scores_of,
    tensor_of,
    unseen,
)

PEOPLE = ("cross_entropy", "divergence", "total_variation", "calibration_error")
FOREIGN = ("auroc", "aupr_out", "aupr_in", "fpr95_out", "fpr95_in")


class HumanScore(Metric):
    """How far predictions are from what people say: four numbers and three a bin, whatever n."""

    is_differentiable = False
    higher_is_better = False
    full_state_update = False

    def __init__(
        self, metric: str = "cross_entropy", *, kind: Kind, bins: int = 15, **options: Any
    ) -> None:
        super().__init__(**options)
        if metric not in PEOPLE:
            raise BadInput(f"{metric!r} compares with no people; known: {', '.join(PEOPLE)}.")
        self.metric, self.partition = metric, Partition.equal(bins)
        add_kind(self, kind)
        for name in ("counts", "probability", "share"):
            add_sum(self, name, bins)
        add_sum(self, "samples", whole=True)
        add_sum(self, "total")

    def update(self, scores: Float[Tensor, "n k"], people: Float[Tensor, "n k"]) -> None:
        shares = array_of(people).astype(np.float64)
        check_shares(shares, len(scores), where="the batch")
        logs = log_probs(scores_of(self, scores), self.kind)
        if self.metric == "calibration_error":
            sums = HumanReliability.of(np.exp(logs), shares, bins=self.partition)
            self.counts += tensor_of(sums.counts, self)
            self.probability += tensor_of(sums.probability, self)
            self.share += tensor_of(sums.share, self)
        else:
            self.total += float(distances(logs, shares)[self.metric].sum())
        self.samples += len(shares)

    def compute(self) -> Float[Tensor, ""]:
        if unseen(self):
            return scalar_of(math.nan, self)
        check_kind(self)
        if self.metric != "calibration_error":
            return (self.total / self.samples).clone()
        return scalar_of(self.reliability().expected_error(), self)

    def reliability(self) -> HumanReliability:
        """The sums of the curve."""
        return HumanReliability(
            counts=array_of(self.counts),
            probability=array_of(self.probability),
            share=array_of(self.share),
            partition=self.partition,
        )


class ForeignScore(Metric):
    """How well a score tells foreign samples: keeps one number and one bit of each."""

    is_differentiable = False
    full_state_update = False

    def __init__(
        self,
        metric: str = "auroc",
        *,
        kind: Kind,
        score: Score = "max_softmax",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if metric not in FOREIGN:
            raise BadInput(f"{metric!r} finds no foreign samples; known: {', '.join(FOREIGN)}.")
        self.metric, self.score = metric, score
        add_kind(self, kind)
        add_list(self, "scores", "foreign")

    @property
    def higher_is_better(self) -> bool:
        """Of the areas."""
        return not self.metric.startswith("fpr95")

    def update(self, scores: Float[Tensor, "n k"], foreign: Bool[Tensor, " n"]) -> None:
        array = scores_of(self, scores)
        found = foreignness_of(array, self.kind, self.score, where="the batch")
        self.scores.append(tensor_of(found, self))
        self.foreign.append(foreign.detach().to(self.device))

    def compute(self) -> Float[Tensor, ""]:
        if unseen(self):
            return scalar_of(math.nan, self)
        check_kind(self)
        scores, foreign = joined(self.scores), joined(self.foreign).astype(bool)
        if foreign.all() or not foreign.any():
            return scalar_of(float("nan"), self)
        found = Detection.of(scores[~foreign], scores[foreign])
        return scalar_of(
            {
                "auroc": found.auroc.value,
                "aupr_out": found.aupr_out.value,
                "aupr_in": found.aupr_in.value,
                "fpr95_out": found.fpr95_out.value,
                "fpr95_in": found.fpr95_in.value,
            }[self.metric],
            self,
        )


class ProximityError(Metric):
    """PIECE: keeps confidence, hit and features of every sample."""

    is_differentiable = False
    higher_is_better = False
    full_state_update = False

    def __init__(
        self, variant: Variant = "paper", *, kind: Kind, bins: int = 15, **options: Any
    ) -> None:
        super().__init__(**options)
        self.variant = variant
        self.partition = Partition.equal(bins, "left" if variant == "official" else "right")
        add_kind(self, kind)
        add_list(self, "confidence", "right", "features")

    def update(
        self,
        scores: Float[Tensor, "n k"],
        labels: Int[Tensor, " n"],
        features: Float[Tensor, "n d"],
    ) -> None:
        samples = samples_of(self, scores, labels)
        self.confidence.append(tensor_of(samples.confidence, self))
        self.right.append(tensor_of(samples.right, self))
        self.features.append(features.detach().to(self.device))

    def compute(self) -> Float[Tensor, ""]:
        if unseen(self):
            return scalar_of(math.nan, self)
        check_kind(self)
        features = joined(self.features)
        near = proximity(features, features, same=True, variant=self.variant)
        right = joined(self.right).astype(bool)
        found = piece(joined(self.confidence), right, near, bins=self.partition)
        return scalar_of(found.expected_error(), self)
