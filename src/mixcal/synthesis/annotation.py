"""How much of either class a mixed image is (Luo et al., ICML 2025; arXiv:2504.13548v2, section
3.2).

    P_k = mean of E(x) over the training images of class k
    λ_E = (E(x̃) − P_j)ᵀ (P_i − P_j) / ‖P_i − P_j‖²         (Equation 9)
    λ   = σ(s (λ_E − ½))                                    (Equation 11, "projected")
    λ   = σ(E(x̃)ᵀ (P_i − P_j) / τ)                          (Equation 7, "direct")

E is a frozen encoder and i < j are the classes of the set. As in the authors' code, prototypes are
means: the paper prints sums, under which λ_E tends to a constant the more images there are.
Features keep their length unless `normalize`. λ_E may leave [0, 1]. Sums in float64, features and
answers in float32.
"""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float, Float32, Int

from mixcal.core.errors import BadInput
from mixcal.data.mixed_images import projected_weights, sigmoid

FEW = 5
LEAST = 1e-9


@dataclass(frozen=True, slots=True)
class Prototypes:
    """The mean feature of every class; a row of NaN where a class has no training image."""

    means: Float32[np.ndarray, "k d"]
    normalize: bool = False

    @classmethod
    def of(
        cls,
        batches: Iterable[tuple[Float[np.ndarray, "_ d"], Int[np.ndarray, " _"]]],
        *,
        classes: int,
        normalize: bool = False,
    ) -> Self:
        """From features and labels, batch by batch."""
        counts = np.zeros(classes, dtype=np.int64)
        sums: Float[np.ndarray, "k d"] | None = None
        for features, labels in batches:
            if normalize:
                features = unit(features)
            if sums is None:
                sums = np.zeros((classes, features.shape[1]))
            np.add.at(sums, labels, features.astype(np.float64))
            counts += np.bincount(labels, minlength=classes)
        if sums is None:
            raise BadInput("There are no training images to make prototypes of.")
        with np.errstate(invalid="ignore"):
            means = sums / counts[:, None]
        return cls(means.astype(np.float32), normalize)

    @property
    def fingerprint(self) -> str:
        """A hash of the numbers."""
        return hashlib.sha256(self.means.tobytes()).hexdigest()[:16]

    def check(self, pairs: Int[np.ndarray, "s 2"], names: tuple[str, ...]) -> None:
        """Refuse classes that nobody knows, and pairs whose prototypes are one and the same."""
        absent = [names[k] for k in np.unique(pairs) if np.isnan(self.means[k]).any()]
        if absent:
            raise BadInput(
                f"The training split has no image of {', '.join(map(repr, absent[:FEW]))}, so "
                "there is no prototype; label some, or generate sets of the other classes only."
            )
        for first, second in np.unique(pairs, axis=0):
            if np.array_equal(self.means[first], self.means[second]):
                raise BadInput(
                    f"The encoder's prototypes of {names[first]!r} and {names[second]!r} are the "
                    "same; nothing can be projected between them. Choose another encoder."
                )

    def seen(self, features: Float[np.ndarray, "... d"]) -> Float[np.ndarray, "... d"]:
        """Features as the prototypes were made of them, in float64."""
        return (unit(features) if self.normalize else features).astype(np.float64)

    def projections(
        self, features: Float[np.ndarray, "s m d"], pairs: Int[np.ndarray, "s 2"]
    ) -> Float32[np.ndarray, "s m"]:
        """λ_E of every member of the sets."""
        first, second = self._ends(pairs)
        apart = first - second
        along = ((self.seen(features) - second) * apart).sum(-1)
        return (along / np.square(apart).sum(-1)).astype(np.float32)

    def direct_weights(
        self, features: Float[np.ndarray, "s m d"], pairs: Int[np.ndarray, "s 2"], *, tau: float
    ) -> Float32[np.ndarray, "s m"]:
        """λ by the difference of the similarities, which lengths of prototypes bias."""
        first, second = self._ends(pairs)
        return sigmoid((self.seen(features) * (first - second)).sum(-1) / tau)

    def shares(
        self, features: Float[np.ndarray, "s m d"], *, temperature: float
    ) -> Float32[np.ndarray, "s m k"]:
        """Softmax over the cosines with all prototypes; classes without one have no share."""
        known = ~np.isnan(self.means).any(1)
        ends = unit(self.means[known]).astype(np.float64)
        cosines = unit(self.seen(features)) @ ends.T / temperature
        powers = np.exp(cosines - cosines.max(-1, keepdims=True))
        found = np.zeros((*features.shape[:-1], len(self.means)), dtype=np.float32)
        found[..., known] = powers / powers.sum(-1, keepdims=True)
        return found

    def _ends(self, pairs: Int[np.ndarray, "s 2"]) -> tuple[np.ndarray, np.ndarray]:
        wide = self.means.astype(np.float64)
        return wide[pairs[:, 0], None], wide[pairs[:, 1], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How λ comes from features. `shares`: also write softmax shares of all classes."""

    name: str = "projected"
    # s, or τ of the direct rule.
    scale: float = 4.0
    shares: bool = False
    temperature: float = 0.01

    def __post_init__(self) -> None:
        for value in (self.scale, self.temperature):
            # Written so that NaN fails, too; what is smaller divides numbers to infinity.
            if not (value >= LEAST and math.isfinite(value)):
                raise BadInput(
                    f"s, τ and the temperature of the shares must be above 0, at least {LEAST:g} "
                    f"and finite; one of them is {value}."
                )

    def weights(
        self,
        prototypes: Prototypes,
        features: Float[np.ndarray, "s m d"],
        pairs: Int[np.ndarray, "s 2"],
    ) -> Float32[np.ndarray, "s m"]:
        """λ of every member."""
        if self.name == "direct":
            return prototypes.direct_weights(features, pairs, tau=self.scale)
        return projected_weights(prototypes.projections(features, pairs), scale=self.scale)


def unit(features: Float[np.ndarray, "... d"]) -> Float[np.ndarray, "... d"]:
    """Each at length 1; zeros stay zeros."""
    lengths = np.linalg.norm(features, axis=-1, keepdims=True)
    return features / np.where(lengths > 0, lengths, 1)
