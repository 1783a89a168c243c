"""ProCal, confidence by density ratio (Xiong et al., NeurIPS 2023; arXiv:2306.04590v3).

    c′ = f₁(c, D) / (f₁(c, D) + f₀(c, D) n₀ / n₁)

f₁ and f₀ are densities of (confidence, proximity) of the n₁ right and n₀ wrong held-out samples: a
Gaussian product kernel, of width 1.06 σ n^(−1/6) a coordinate. The proximity D of a sample is
that to its nearest held-out samples, none of which is itself.

As in the paper. Differs from its code: where both densities vanish c stays (there c′ became 0); the
other classes share the rest so that the label whose confidence was rescaled stays the prediction
(top_label.py); a coordinate that does not vary is given the width 10⁻³.
"""

import warnings
from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float, Shaped

from mixcal.judging.metrics.proximity import proximity
from mixcal.judging.rescaling.fitting_data import NoOptimum, fitting_data, logits_of
from mixcal.judging.rescaling.neighborhood import checked_features, checked_knobs, own_proximity
from mixcal.judging.rescaling.odds import Odds
from mixcal.judging.rescaling.top_label import with_confidence

# Below this a density is no evidence, as in the paper's code.
VANISHED = 1e-10
NARROWEST = 1e-3
# Pairs of samples compared at a time.
BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ProCal:
    """Held-out samples and where they lie. It keeps every predicted label.

    `right` and `wrong` are points (confidence, proximity); where one of the two has fewer than two
    there is no density, and nothing is changed.
    """

    right: Float[np.ndarray, "a 2"]
    wrong: Float[np.ndarray, "b 2"]
    reference: Float[np.ndarray, "n d"]
    neighbors: int
    variant: str
    classes: int

    @classmethod
    def fit(
        cls,
        logits: Shaped[np.ndarray, "..."],
        labels: Shaped[np.ndarray, "..."],
        *,
        features: Shaped[np.ndarray, "..."],
        neighbors: int = 10,
        variant: str = "paper",
    ) -> Self:
        """From held-out logits and the features of the same samples."""
        kind = checked_knobs(neighbors, variant)
        scores, classes = fitting_data(logits, labels)
        held = checked_features(features, len(scores))
        odds = Odds.of(scores)
        near = own_proximity(held, neighbors=neighbors, variant=kind)
        points = np.stack([odds.top_probs(), near], axis=1)
        right = odds.top == classes
        made = cls(
            right=points[right],
            wrong=points[~right],
            reference=held,
            neighbors=neighbors,
            variant=variant,
            classes=scores.shape[1],
        )
        if made.is_idle():
            warnings.warn(
                f"No density of (confidence, proximity): {len(made.right)} right and "
                f"{len(made.wrong)} wrong samples, at least two of each are needed; probabilities "
                "stay as they are. Fit on more samples.",
                NoOptimum,
                stacklevel=2,
            )
        return made

    def transform(
        self, logits: Shaped[np.ndarray, "..."], *, features: Shaped[np.ndarray, "..."]
    ) -> Float[np.ndarray, "n k"]:
        """Probabilities."""
        odds = Odds.of(logits_of(logits, self.classes))
        ours = checked_features(features, len(odds.logits), self.reference.shape[1])
        confidence = odds.top_probs()
        if self.is_idle():
            return with_confidence(odds, confidence)
        near = proximity(
            ours,
            self.reference,
            neighbors=self.neighbors,
            variant=checked_knobs(self.neighbors, self.variant),
        )
        points = np.stack([confidence, near], axis=1)
        ratio = len(self.wrong) / len(self.right)
        found = posterior(density(points, self.right), density(points, self.wrong), ratio)
        return with_confidence(odds, np.where(np.isnan(found), confidence, found))

    def is_idle(self) -> bool:
        """Whether there were too few samples to change anything."""
        return min(len(self.right), len(self.wrong)) < 2


def posterior(
    right: Float[np.ndarray, " n"], wrong: Float[np.ndarray, " n"], ratio: float
) -> Float[np.ndarray, " n"]:
    """How likely right, from both densities and how many wrong there are a right one; NaN where
    neither density says anything."""
    together = right + wrong * ratio
    known = together >= VANISHED
    return np.where(known, right / np.where(known, together, 1.0), np.nan)


def density(
    points: Float[np.ndarray, "n 2"], samples: Float[np.ndarray, "m 2"]
) -> Float[np.ndarray, " n"]:
    """The kernel density of the samples at the points."""
    m = len(samples)
    spread = samples.std(0)
    width = 1.06 * np.where(spread > 0, spread, NARROWEST) * m ** (-1 / 6)
    found = np.empty(len(points))
    rows = max(1, BLOCK // m)
    for start in range(0, len(points), rows):
        part = points[start : start + rows]
        exponent = np.zeros((len(part), m))
        for axis in range(2):
            exponent -= ((part[:, axis, None] - samples[:, axis]) / width[axis]) ** 2 / 2
        found[start : start + rows] = np.exp(exponent).mean(1)
    return found / (2 * np.pi * width.prod())
