"""Against what people say: predictions compared with a distribution of labels per sample.

    cross-entropy −Σ q log p,   KL divergence Σ q log(q / p),   total variation ½ Σ |q − p|

with q the share of people who chose each class (for CIFAR-10 see Peterson et al., ICCV 2019;
arXiv:1908.07086v1). Single labels cannot tell a model that knows the image is ambiguous from one
that is unsure; these can. A finite number of votes adds its own noise to q: with v votes an
image's expected total variation from the true shares is about Σ √(q (1 − q) / (2 π v)).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Kind, Predictions
from mixcal.judging.metrics.intervals import Estimate, mean_interval
from mixcal.judging.metrics.inversion import norm_interval, normal_draws, sum_of_absolutes
from mixcal.judging.metrics.partition import Partition

# Images handled at a time.
BLOCK = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanReliability:
    """Per bin of predicted probability (all classes): how many, their sum, the sum of shares."""

    counts: Float[np.ndarray, " m"]
    probability: Float[np.ndarray, " m"]
    share: Float[np.ndarray, " m"]
    partition: Partition

    @classmethod
    def of(
        cls,
        probs: Float[np.ndarray, "n k"],
        people: Float[np.ndarray, "n k"],
        *,
        bins: int | Partition = 15,
    ) -> "HumanReliability":
        """Of all probabilities against the share of people who chose the class."""
        partition = bins if isinstance(bins, Partition) else Partition.equal(bins)
        place = partition.place(probs).ravel()
        size = partition.bins
        return cls(
            counts=np.bincount(place, minlength=size).astype(np.float64),
            # Of no samples bincount answers integers.
            probability=np.bincount(place, probs.ravel(), size).astype(np.float64),
            share=np.bincount(place, people.ravel(), size).astype(np.float64),
            partition=partition,
        )

    def __add__(self, other: "HumanReliability") -> "HumanReliability":
        if self.partition != other.partition:
            raise ValueError("reliabilities with different bins do not add")
        return HumanReliability(
            counts=self.counts + other.counts,
            probability=self.probability + other.probability,
            share=self.share + other.share,
            partition=self.partition,
        )

    def curve(self) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        """Mean probability and mean share of people in each bin; NaN where it is empty."""
        counts = np.where(self.counts > 0, self.counts, np.nan)
        return self.probability / counts, self.share / counts

    def expected_error(self) -> float:
        """Σ |B_m| / (n K) · |mean probability − mean share of people| over all n K pairs."""
        return float(np.abs(self.probability - self.share).sum() / self.counts.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanAgreement:
    """How far the predictions are from what people say, and the curve between both."""

    cross_entropy: Estimate
    divergence: Estimate
    total_variation: Estimate
    calibration_error: Estimate
    reliability: HumanReliability
    n: int


def against_people(
    predictions: Predictions, *, bins: int = 15, level: float = 0.95
) -> HumanAgreement:
    """Compare predictions with their `label_distributions`."""
    people = predictions.label_distributions
    where = predictions.source or "predictions"
    if people is None:
        raise BadInput(f"{where}: there are no label_distributions; add what people say.")
    check_shares(people, len(predictions), where=where)
    people = people.astype(np.float64)
    logs = log_probs(predictions.scores, predictions.kind)
    probs = np.exp(logs)
    apart = distances(logs, people)
    return HumanAgreement(
        cross_entropy=mean_interval(apart["cross_entropy"], level=level, lowest=0.0),
        divergence=mean_interval(apart["divergence"], level=level, lowest=0.0),
        total_variation=mean_interval(
            apart["total_variation"], level=level, lowest=0.0, highest=1.0
        ),
        calibration_error=calibration_interval(probs, people, bins=bins, level=level),
        reliability=HumanReliability.of(probs, people, bins=bins),
        n=len(predictions),
    )


def distances(
    logs: Float[np.ndarray, "n k"], people: Float[np.ndarray, "n k"]
) -> dict[str, Float[np.ndarray, " n"]]:
    """Cross-entropy, KL divergence and total variation of each sample, from log-probabilities."""
    # Where nobody chose a class, its probability may be zero.
    cross = -(people * np.where(people > 0, logs, 0.0)).sum(1)
    own = -(people * np.log(np.where(people > 0, people, 1.0))).sum(1)
    return {
        "cross_entropy": cross,
        "divergence": cross - own,
        "total_variation": np.abs(people - np.exp(logs)).sum(1) / 2,
    }


def calibration_interval(
    probs: Float[np.ndarray, "n k"],
    people: Float[np.ndarray, "n k"],
    *,
    bins: int | Partition = 15,
    level: float = 0.95,
) -> Estimate:
    """The error of the curve between both, with its interval by inversion.

    The noise is that of drawing other images: the classes of one image are dependent.
    """
    partition = bins if isinstance(bins, Partition) else Partition.equal(bins)
    n, k = probs.shape
    size = partition.bins
    total, squares = np.zeros(size), np.zeros((size, size))
    for start in range(0, n, BLOCK):
        part = probs[start : start + BLOCK]
        row = np.arange(len(part))[:, None] * size
        gap = (part - people[start : start + BLOCK]).ravel()
        own = np.bincount((row + partition.place(part)).ravel(), gap, len(part) * size)
        own = own.reshape(len(part), size)
        total += own.sum(0)
        squares += own.T @ own
    # Of the mean gap per pair of image and class.
    gaps = total / (n * k)
    covariance = squares / (n * k) ** 2 - np.outer(gaps, gaps) / n
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    spread = np.sqrt(np.maximum(covariance.diagonal(), 0))
    noise = normal_draws(size) @ root.T
    value = float(np.abs(gaps).sum())
    return norm_interval(value, gaps, spread, noise, sum_of_absolutes, level=level)


def check_shares(people: Float[np.ndarray, "n k"], n: int, *, where: str) -> None:
    """Refuse label distributions that are none."""
    if len(people) != n:
        raise BadInput(f"{where}: {len(people)} label distributions for {n} samples; match them.")
    sums = people.sum(1, dtype=np.float64)
    wrong = (people < 0).any(1) | ~(np.abs(sums - 1) <= 1e-3)
    if wrong.any():
        row = int(wrong.argmax())
        raise BadInput(
            f"{where}: row {row} of label_distributions sums to {sums[row]:.6g}; divide the votes "
            "by their number."
        )


def log_probs(scores: Float[np.ndarray, "n k"], kind: Kind) -> Float[np.ndarray, "n k"]:
    """In float64; −inf where a probability is zero."""
    wide = scores.astype(np.float64)
    if kind == "probs":
        with np.errstate(divide="ignore"):
            return np.log(wide)
    wide -= wide.max(1, keepdims=True)
    return wide - np.log(np.exp(wide).sum(1, keepdims=True))
