"""Classwise reliability: the probability of every class against how often that class is true.

    classwise ECE = (1 / K) Σ_k Σ_m |B_km| / n · |mean p_k − frequency of k|
                                          (Kull et al., NeurIPS 2019; arXiv:1910.12656v1, eq. 6)

As in the paper: all samples count for every class, whatever their largest probability. With many
classes nearly all probabilities lie near 0, and the mean over classes shrinks with K.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from jaxtyping import Float, Int

from mixcal.core.predictions import Kind, softmax
from mixcal.judging.metrics.partition import Partition

# Probabilities handled at a time: about a megabyte each of float64 scratch.
BLOCK = 1 << 17


@dataclass(frozen=True, slots=True, kw_only=True)
class ClasswiseReliability:
    """Per class and bin: how many probabilities, their sum, and how often the class was true."""

    counts: Int[np.ndarray, "k m"]
    positives: Int[np.ndarray, "k m"]
    confidence: Float[np.ndarray, "k m"]
    partition: Partition
    n: int

    @classmethod
    def of(
        cls,
        probs: Float[np.ndarray, "n k"],
        labels: Int[np.ndarray, " n"],
        *,
        bins: int | Partition = 15,
    ) -> Self:
        """Of all probabilities of all samples."""
        return cls.of_scores(probs, labels, "probs", bins=bins)

    @classmethod
    def of_scores(
        cls,
        scores: Float[np.ndarray, "n k"],
        labels: Int[np.ndarray, " n"],
        kind: Kind,
        *,
        bins: int | Partition = 15,
    ) -> Self:
        """Of all probabilities, which are made block by block where the scores are logits."""
        partition = bins if isinstance(bins, Partition) else Partition.equal(bins)
        n, k = scores.shape
        size = k * partition.bins
        counts = np.zeros(size, dtype=np.int64)
        positives = np.zeros(size, dtype=np.int64)
        confidence = np.zeros(size)
        offset = np.arange(k) * partition.bins
        rows = max(1, BLOCK // k)
        for start in range(0, n, rows):
            part = scores[start : start + rows]
            if kind == "logits":
                part = softmax(part.astype(np.float64))
            own = labels[start : start + rows]
            place = partition.place(part)
            place += offset
            counts += np.bincount(place.ravel(), minlength=size)
            confidence += np.bincount(place.ravel(), weights=part.ravel(), minlength=size)
            positives += np.bincount(place[np.arange(len(own)), own], minlength=size)
        shape = (k, partition.bins)
        return cls(
            counts=counts.reshape(shape),
            positives=positives.reshape(shape),
            confidence=confidence.reshape(shape),
            partition=partition,
            n=n,
        )

    def __add__(self, other: "ClasswiseReliability") -> "ClasswiseReliability":
        if self.partition != other.partition or self.counts.shape != other.counts.shape:
            raise ValueError("classwise reliabilities with different bins or classes do not add")
        return ClasswiseReliability(
            counts=self.counts + other.counts,
            positives=self.positives + other.positives,
            confidence=self.confidence + other.confidence,
            partition=self.partition,
            n=self.n + other.n,
        )

    def without_first_bin(self) -> "ClasswiseReliability":
        """With nothing in the first bin, as codes that drop exact zeros; n stays what it was."""
        kept = np.arange(self.partition.bins) > 0
        return replace(
            self,
            counts=self.counts * kept,
            positives=self.positives * kept,
            confidence=self.confidence * kept,
        )

    @property
    def gaps(self) -> Float[np.ndarray, "k m"]:
        """Mean probability minus frequency of each class and bin; 0 where it is empty."""
        return (self.confidence - self.positives) / np.maximum(self.counts, 1)

    def errors(self) -> Float[np.ndarray, " k"]:
        """The one-against-the-rest ECE of each class."""
        return np.abs(self.confidence - self.positives).sum(1) / max(self.n, 1)

    def expected_error(self) -> float:
        """Classwise ECE: the mean over classes."""
        return float(self.errors().mean())
