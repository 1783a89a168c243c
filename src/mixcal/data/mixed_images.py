"""Mixed images as rows that go with labeled ones: from a store, or from an .npz of other origin.

An .npz holds `images`, uint8 (n, height, width) or (n, height, width, channels), and `targets`,
(n, classes), each row a distribution.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Float32, Int, Shaped, UInt8
from torch import Tensor

from mixcal.core.errors import BadInput
from mixcal.data.mixed_store import MixedStore
from mixcal.data.sources.npz import read_arrays

N1 = Literal["interior", "endpoint"]
Pairing = Literal["class_matched", "uniform"]


@dataclass(frozen=True, slots=True)
class ByClass:
    """For every class, the rows that contain it, one class after the other."""

    rows: Int[np.ndarray, " m"]
    starts: Int[np.ndarray, " k"]
    counts: Int[np.ndarray, " k"]

    @classmethod
    def of(cls, contains: Mapping[int, Int[np.ndarray, " _"]], classes: int) -> "ByClass":
        """From the rows of each class."""
        parts = [contains.get(label, np.empty(0, np.int64)) for label in range(classes)]
        counts = np.array([len(part) for part in parts])
        return cls(np.concatenate(parts), np.cumsum(counts) - counts, counts)

    def draw(
        self, labels: Int[np.ndarray, " n"], generator: np.random.Generator
    ) -> Int[np.ndarray, " n"]:
        """A row with each label's class, uniformly."""
        places = (generator.random(len(labels)) * self.counts[labels]).astype(np.int64)
        return self.rows[self.starts[labels] + places]


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedSets:
    """Members of a store's sets. Row i is member i mod m of set i div m.

    To go with a labeled image of class y: a set of a pair with y, uniformly; of its members,
    ordered by λ, the end on y's side and further ones of the interior, without repetition. One
    copy alone is an interior one, or that end (`n1`). "uniform" pays no regard to y: any set, any
    of its members. With `ends` only pure members count, each of a set of its own: y's end, or, if
    "uniform", either end.
    """

    images: UInt8[np.ndarray, "s m h w c"]
    pairs: Int[np.ndarray, "s 2"]
    # Members by falling share of the first class.
    order: Int[np.ndarray, "s m"]
    distributions: Float32[np.ndarray, "s m k"]
    by_class: ByClass
    copies: int
    n1: N1 = "interior"
    pairing: Pairing = "class_matched"
    ends: bool = False

    def __len__(self) -> int:
        return self.images.shape[0] * self.images.shape[1]

    def draw(
        self, labels: Int[np.ndarray, " n"], generator: np.random.Generator
    ) -> Int[np.ndarray, " m"]:
        """Rows for these labels, the copies of one label one after the other."""
        members = self.images.shape[1]
        if self.ends and self.pairing == "uniform":
            sets = generator.integers(len(self.images), size=len(labels) * self.copies)
            side = generator.integers(2, size=len(sets))
            return sets * members + np.where(side, self.order[sets, 0], self.order[sets, -1])
        if self.pairing == "uniform":
            sets = generator.integers(len(self.images), size=len(labels))
            order = np.argsort(generator.random((len(labels), members)), axis=1)
            return (sets[:, None] * members + order[:, : self.copies]).reshape(-1)
        if self.ends:
            labels = np.repeat(labels, self.copies)
            sets = self.by_class.draw(labels, generator)
            return sets * members + self._end(sets, labels)
        sets = self.by_class.draw(labels, generator)
        inner = self.copies - 1 if self.copies > 1 or self.n1 == "endpoint" else 1
        places = 1 + np.argsort(generator.random((len(labels), members - 2)), axis=1)[:, :inner]
        chosen = np.take_along_axis(self.order[sets], places, axis=1)
        if inner < self.copies:
            chosen = np.concatenate([self._end(sets, labels)[:, None], chosen], axis=1)
        return (sets[:, None] * members + chosen).reshape(-1)

    def _end(
        self, sets: Int[np.ndarray, " n"], labels: Int[np.ndarray, " n"]
    ) -> Int[np.ndarray, " n"]:
        """The member of each set that is most of its label's class."""
        first = self.pairs[sets, 0] == labels
        return np.where(first, self.order[sets, 0], self.order[sets, -1])

    def take(self, index: Int[np.ndarray, " m"]) -> UInt8[Tensor, "m c h w"]:
        """The raw images at these positions."""
        sets, members = np.divmod(index, self.images.shape[1])
        return torch.from_numpy(_planes(self.images[sets, members]))

    def targets(self, index: Int[np.ndarray, " m"]) -> Float[Tensor, "m k"]:
        """Their target distributions."""
        sets, members = np.divmod(index, self.images.shape[1])
        return torch.from_numpy(self.distributions[sets, members])

    def prefetch(self, index: Int[np.ndarray, " m"]) -> None:
        """Nothing: the system reads ahead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftImages:
    """Images with distributions and no sets: every copy is one that contains the label's class."""

    images: UInt8[np.ndarray, "n h w c"]
    distributions: Float32[np.ndarray, "n k"]
    by_class: ByClass
    copies: int
    pairing: Pairing = "class_matched"

    def __len__(self) -> int:
        return len(self.images)

    def draw(
        self, labels: Int[np.ndarray, " n"], generator: np.random.Generator
    ) -> Int[np.ndarray, " m"]:
        """Rows for these labels, the copies of one label one after the other."""
        if self.pairing == "uniform":
            return generator.integers(len(self.images), size=len(labels) * self.copies)
        return self.by_class.draw(np.repeat(labels, self.copies), generator)

    def take(self, index: Int[np.ndarray, " m"]) -> UInt8[Tensor, "m c h w"]:
        """The raw images at these positions."""
        return torch.from_numpy(_planes(self.images[index]))

    def targets(self, index: Int[np.ndarray, " m"]) -> Float[Tensor, "m k"]:
        """Their target distributions."""
        return torch.from_numpy(self.distributions[index])

    def prefetch(self, index: Int[np.ndarray, " m"]) -> None:
        """Nothing: everything is there."""


def two_hot(
    pairs: Int[np.ndarray, "s 2"], shares: Float[np.ndarray, "s m"], classes: int
) -> Float32[np.ndarray, "s m k"]:
    """λ at the first class of the pair, 1 − λ at the second."""
    found = np.zeros((*shares.shape, classes), dtype=np.float32)
    rows = np.arange(len(pairs))
    found[rows, :, pairs[:, 0]] = shares
    found[rows, :, pairs[:, 1]] = 1 - shares
    return found


def projected_weights(
    projections: Float[np.ndarray, "*n"], *, scale: float
) -> Float32[np.ndarray, "*n"]:
    """λ = σ(s (λ_E − ½))."""
    return sigmoid(scale * (projections.astype(np.float64) - 0.5))


def sigmoid(values: Float[np.ndarray, "*n"]) -> Float32[np.ndarray, "*n"]:
    """1 / (1 + e^−x)."""
    return (0.5 * (1 + np.tanh(0.5 * values))).astype(np.float32)


def sets_by_class(pairs: Int[np.ndarray, "s 2"], classes: int) -> ByClass:
    """The sets of every class's pairs."""
    return ByClass.of(
        {label: np.flatnonzero((pairs == label).any(1)) for label in range(classes)}, classes
    )


def soft_images(path: Path, *, classes: int, copies: int, pairing: Pairing) -> SoftImages:
    """The rows of an .npz; whatever does not fit is refused."""
    images, targets = _read(path)
    if images.dtype != np.uint8 or images.ndim not in (3, 4) or not len(images):
        raise BadInput(
            f"{path}: `images` is {images.dtype} {images.shape}; it must be uint8 (n, height, "
            "width) or (n, height, width, channels)."
        )
    if targets.dtype.kind not in "fiub" or targets.shape != (len(images), classes):
        raise BadInput(
            f"{path}: `targets` is {targets.dtype} {targets.shape}; for these images and classes "
            f"it must be real numbers ({len(images)}, {classes})."
        )
    targets = targets.astype(np.float32)
    if not (targets >= 0).all() or not np.allclose(targets.sum(1), 1, atol=1e-3):
        raise BadInput(f"{path}: every row of `targets` must be a distribution, with sum 1.")
    return SoftImages(
        images=images if images.ndim == 4 else images[..., None],
        distributions=targets,
        by_class=ByClass.of(
            {k: np.flatnonzero(targets[:, k] > 0) for k in range(classes)}, classes
        ),
        copies=copies,
        pairing=pairing,
    )


def _read(path: Path) -> tuple[Shaped[np.ndarray, "..."], Shaped[np.ndarray, "..."]]:
    arrays = read_arrays(path)
    for name in ("images", "targets"):
        if name not in arrays:
            raise BadInput(f"{path} has no array {name!r}; it needs `images` and `targets`.")
    return arrays["images"], arrays["targets"]


def _planes(images: UInt8[np.ndarray, "n h w c"]) -> UInt8[np.ndarray, "n c h w"]:
    return np.ascontiguousarray(np.asarray(images).transpose(0, 3, 1, 2))


def identity_of_file(path: Path) -> str:
    """Which contents these are, in a few letters for a run's remarks."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


def identity(store: MixedStore) -> str:
    """Which images and annotations these are, in a few letters for a run's remarks."""
    text = repr(sorted((key, repr(value)) for key, value in store.header.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
