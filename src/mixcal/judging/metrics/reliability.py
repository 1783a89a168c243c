"""Reliability: how often predictions of one confidence are right, as sums that add.

ECE, MCE, RMS, ACE, OE, UE, the debiased error, their intervals and the reliability diagram all
come from the same sums, so streams, shards and processes merge by `+`: counts exactly, sums to
rounding. The memory does not grow with n.

    ECE = Σ_m |B_m| / n · |conf(B_m) − acc(B_m)|          (Naeini et al., AAAI 2015; Guo et al.,
                                                            ICML 2017, arXiv:1706.04599v2, eq. 3)
    OE, UE = the same with max(conf − acc, 0) and max(acc − conf, 0); with `weighted`, times
    conf(B_m) (Thulasidasan et al., NeurIPS 2019; arXiv:1905.11001v5, section 2.2)
    debiased square = Σ_m |B_m| / n · (gap² − acc (1 − acc) / (|B_m| − 1))
                                            (Kumar et al., NeurIPS 2019; arXiv:1909.10155v2)

As in the papers. Thulasidasan et al. define the weighted OE only; the weighted UE is its mirror.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from jaxtyping import Float, Int, Shaped

from mixcal.judging.metrics.partition import Closed, Partition

# Rows summed at a time: small against memory, and short sums of many blocks lose fewer digits.
BLOCK = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """Per bin of confidence: how many, how many right, and sums of confidence.

    The sums are those of the confidence, of its square, and of the confidence of right
    predictions; the second moments of every gap follow from them.
    """

    counts: Int[np.ndarray, " m"]
    right: Int[np.ndarray, " m"]
    confidence: Float[np.ndarray, " m"]
    confidence_squared: Float[np.ndarray, " m"]
    confidence_of_right: Float[np.ndarray, " m"]
    partition: Partition

    @classmethod
    def empty(cls, bins: int | Partition = 15, closed: Closed = "right") -> Self:
        """No samples: what a sum starts from."""
        partition = bins if isinstance(bins, Partition) else Partition.equal(bins, closed)
        zeros = np.zeros(partition.bins)
        whole = np.zeros(partition.bins, dtype=np.int64)
        return cls(
            counts=whole,
            right=whole,
            confidence=zeros,
            confidence_squared=zeros,
            confidence_of_right=zeros,
            partition=partition,
        )

    @classmethod
    def of(
        cls,
        probs: Float[np.ndarray, "n k"],
        labels: Int[np.ndarray, " n"],
        *,
        bins: int | Partition = 15,
        closed: Closed = "right",
    ) -> "Reliability":
        """Of the largest probability of each row."""
        predicted = probs.argmax(1)
        confidence = probs[np.arange(len(probs)), predicted]
        return cls.of_confidence(confidence, predicted == labels, bins=bins, closed=closed)

    @classmethod
    def of_confidence(
        cls,
        confidence: Float[np.ndarray, " n"],
        right: Shaped[np.ndarray, " n"],
        *,
        bins: int | Partition = 15,
        closed: Closed = "right",
    ) -> "Reliability":
        """Of given confidences and whether each prediction was right."""
        partition = bins if isinstance(bins, Partition) else Partition.equal(bins, closed)
        total: Reliability = cls.empty(partition)
        for start in range(0, len(confidence), BLOCK):
            part = confidence[start : start + BLOCK]
            hits = right[start : start + BLOCK]
            total += cls.of_places(partition.place(part), part, hits, partition)
        return total

    @classmethod
    def of_places(
        cls,
        place: Int[np.ndarray, " n"],
        confidence: Float[np.ndarray, " n"],
        right: Shaped[np.ndarray, " n"],
        partition: Partition,
    ) -> Self:
        """Of samples whose bins are known already."""
        confidence = confidence.astype(np.float64, copy=False)
        # Wrong predictions of bin m fall into 2 m, right ones into 2 m + 1.
        key = 2 * place + right.astype(bool)
        size = 2 * partition.bins
        counts = np.bincount(key, minlength=size).reshape(-1, 2)
        sums = np.bincount(key, weights=confidence, minlength=size).reshape(-1, 2)
        return cls(
            counts=counts.sum(1),
            right=counts[:, 1],
            confidence=sums.sum(1),
            confidence_squared=np.bincount(place, confidence * confidence, partition.bins),
            confidence_of_right=sums[:, 1],
            partition=partition,
        )

    # The class by name: beartype 0.23.1 cannot check an operator that answers Self.
    def __add__(self, other: "Reliability") -> "Reliability":
        if self.partition != other.partition:
            raise ValueError("reliabilities with different bins do not add")
        return replace(
            self,
            counts=self.counts + other.counts,
            right=self.right + other.right,
            confidence=self.confidence + other.confidence,
            confidence_squared=self.confidence_squared + other.confidence_squared,
            confidence_of_right=self.confidence_of_right + other.confidence_of_right,
        )

    @property
    def bins(self) -> int:
        """How many bins."""
        return len(self.counts)

    @property
    def n(self) -> int:
        """How many samples."""
        return int(self.counts.sum())

    @property
    def gaps(self) -> Float[np.ndarray, " m"]:
        """Mean confidence minus accuracy of each bin; 0 where it is empty."""
        return (self.confidence - self.right) / np.maximum(self.counts, 1)

    @property
    def shares(self) -> Float[np.ndarray, " m"]:
        """The share of the samples in each bin."""
        return self.counts / max(self.n, 1)

    @property
    def accuracies(self) -> Float[np.ndarray, " m"]:
        """The share of right predictions in each bin; 0 where it is empty."""
        return self.right / np.maximum(self.counts, 1)

    @property
    def confidences(self) -> Float[np.ndarray, " m"]:
        """The mean confidence of each bin; 0 where it is empty."""
        return self.confidence / np.maximum(self.counts, 1)

    def accuracy(self) -> float:
        """The share of right predictions."""
        return float(self.right.sum() / max(self.n, 1))

    def mean_confidence(self) -> float:
        """The mean confidence."""
        return float(self.confidence.sum() / max(self.n, 1))

    def expected_error(self) -> float:
        """ECE: Σ share · |confidence − accuracy|."""
        return float((self.shares * np.abs(self.gaps)).sum())

    def overconfidence(self, *, weighted: bool = False) -> float:
        """OE: the part of the ECE where confidence exceeds accuracy."""
        scale = self.shares * self.confidences if weighted else self.shares
        return float((scale * np.maximum(self.gaps, 0)).sum())

    def underconfidence(self, *, weighted: bool = False) -> float:
        """UE: the part of the ECE where accuracy exceeds confidence; unweighted OE + UE = ECE."""
        scale = self.shares * self.confidences if weighted else self.shares
        return float((scale * np.maximum(-self.gaps, 0)).sum())

    def maximum_error(self, *, weighted: bool = False) -> float:
        """MCE: the largest gap; with `weighted`, the largest share · gap."""
        gaps = np.abs(self.gaps)
        return float((self.shares * gaps if weighted else gaps).max(initial=0.0))

    def average_error(self) -> float:
        """ACE: the mean gap of the bins that hold samples."""
        return float(np.abs(self.gaps).sum() / max(np.count_nonzero(self.counts), 1))

    def squared_error(self) -> float:
        """The square of the RMS calibration error: Σ share · gap²."""
        return float((self.shares * self.gaps**2).sum())

    def root_mean_squared_error(self) -> float:
        """RMS calibration error."""
        return float(np.sqrt(self.squared_error()))

    def debiased_squared_error(self, *, singletons: bool = False) -> float:
        """The squared error less what chance alone adds; unbiased, so it may be negative.

        A bin of one sample has no variance to subtract: it counts nothing, or with `singletons`
        its whole squared gap.
        """
        chance = self.accuracies * (1 - self.accuracies) / np.maximum(self.counts - 1, 1)
        kept = self.counts > (0 if singletons else 1)
        return float((self.shares * (self.gaps**2 - chance))[kept].sum())

    def debiased_error(self, *, singletons: bool = False) -> float:
        """The root of the debiased squared error, 0 where that is negative."""
        return float(np.sqrt(max(self.debiased_squared_error(singletons=singletons), 0.0)))
