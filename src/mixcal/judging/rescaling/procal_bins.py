"""ProCal by bins, the bin mean shift (Xiong et al., NeurIPS 2023; arXiv:2306.04590v3).

Held-out samples are split at quantiles of their proximity, and each part has a rescaler by bins of
its own: histogram binning or isotonic regression. As in the paper's code: five parts. Differs from
it: with fewer than `least` samples a part is served by the rescaler of all.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from jaxtyping import Float, Shaped

from mixcal.core.errors import BadInput
from mixcal.judging.metrics.proximity import proximity
from mixcal.judging.rescaling.fitting_data import fitting_data, logits_of
from mixcal.judging.rescaling.histogram import HistogramBinning
from mixcal.judging.rescaling.isotonic import Isotonic
from mixcal.judging.rescaling.neighborhood import checked_features, checked_knobs, own_proximity
from mixcal.judging.rescaling.top_isotonic import TopIsotonic

BY: dict[str, Any] = {
    "isotonic": Isotonic,
    "top-isotonic": TopIsotonic,
    "histogram": HistogramBinning,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProCalBins:
    """Edges of proximity and the rescaler of each part."""

    edges: Float[np.ndarray, " e"]
    parts: tuple[Any, ...]
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
        by: str = "top-isotonic",
        proximity_bins: int = 5,
        least: int = 20,
        neighbors: int = 10,
        variant: str = "paper",
    ) -> Self:
        """From held-out logits and the features of the same samples."""
        if by not in BY:
            raise BadInput(f"by is {by!r}; it is one of {', '.join(BY)}.")
        if proximity_bins < 1:
            raise BadInput(f"{proximity_bins} proximity bins were asked for; give at least one.")
        kind = checked_knobs(neighbors, variant)
        scores, classes = fitting_data(logits, labels)
        held = checked_features(features, len(scores))
        near = own_proximity(held, neighbors=neighbors, variant=kind)
        edges = np.quantile(near, np.linspace(0, 1, proximity_bins + 1)[1:-1])
        place = np.searchsorted(edges, near, side="right")
        whole = BY[by].fit(scores, classes)
        parts = []
        for b in range(proximity_bins):
            inside = place == b
            enough = inside.sum() >= max(least, 1)
            parts.append(BY[by].fit(scores[inside], classes[inside]) if enough else whole)
        return cls(
            edges=edges,
            parts=tuple(parts),
            reference=held,
            neighbors=neighbors,
            variant=variant,
            classes=scores.shape[1],
        )

    def transform(
        self, logits: Shaped[np.ndarray, "..."], *, features: Shaped[np.ndarray, "..."]
    ) -> Float[np.ndarray, "n k"]:
        """Probabilities."""
        scores = logits_of(logits, self.classes)
        ours = checked_features(features, len(scores), self.reference.shape[1])
        near = proximity(
            ours,
            self.reference,
            neighbors=self.neighbors,
            variant=checked_knobs(self.neighbors, self.variant),
        )
        place = np.searchsorted(self.edges, near, side="right")
        out = np.empty_like(scores)
        for b, part in enumerate(self.parts):
            inside = place == b
            if inside.any():
                out[inside] = part.transform(scores[inside])
        return out
