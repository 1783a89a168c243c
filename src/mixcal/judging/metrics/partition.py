"""Partitions: which bin a confidence falls into.

Three rules for the edges are in use, and they give different numbers as soon as confidences lie on
an edge: (lo, hi] as in Guo et al. (ICML 2017; arXiv:1706.04599v2), [lo, hi) with 1.0 in the last
bin, and [lo, hi) with exactly 1.0 in a further bin of its own. A partition names its rule.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal, Self

import numpy as np
from jaxtyping import Float, Int

from mixcal.core.errors import BadInput

Closed = Literal["right", "left"]


@dataclass(frozen=True, slots=True)
class Partition:
    """Bins of [0, 1] by their edges; a value is compared with the edges in float64.

    0.0 belongs to the first bin and 1.0 to the last. `ones_apart` puts exactly 1.0 into one more
    bin after the last.
    """

    edges: tuple[float, ...]
    closed: Closed = "right"
    ones_apart: bool = False
    equal_width: bool = False

    @classmethod
    def equal(cls, bins: int = 15, closed: Closed = "right", ones_apart: bool = False) -> Self:
        """Bins of one width."""
        if bins < 1:
            raise BadInput(f"{bins} bins were asked for; give at least one.")
        return cls(_edges(bins), closed, ones_apart, equal_width=True)

    @property
    def bins(self) -> int:
        """How many bins, the one of exact ones included."""
        return len(self.edges) - 1 + self.ones_apart

    def place(self, confidence: Float[np.ndarray, "*shape"]) -> Int[np.ndarray, "*shape"]:
        """The bin of each confidence."""
        place = self._by_width(confidence) if self.equal_width else self._by_edges(confidence)
        if self.ones_apart:
            place[confidence == 1] = self.bins - 1
        return place

    def _by_edges(self, confidence: Float[np.ndarray, "*shape"]) -> Int[np.ndarray, "*shape"]:
        side: Literal["left", "right"] = "left" if self.closed == "right" else "right"
        return np.searchsorted(np.asarray(self.edges[1:-1]), confidence, side=side)

    def _by_width(self, confidence: Float[np.ndarray, "*shape"]) -> Int[np.ndarray, "*shape"]:
        """By multiplication, which rounds: what comes near an edge is compared with the edges."""
        bins = len(self.edges) - 1
        scaled = confidence.astype(np.float64)
        scaled *= bins
        if confidence.dtype == np.float64:
            near = np.flatnonzero(np.abs(scaled - np.rint(scaled)) < 1e-9)
        else:
            # Twenty-four bits times a bin count are exact in float64.
            near = np.empty(0, dtype=np.int64)
        if self.closed == "right":
            np.ceil(scaled, out=scaled)
            scaled -= 1
        else:
            np.floor(scaled, out=scaled)
        np.clip(scaled, 0, bins - 1, out=scaled)
        place = scaled.astype(np.int64)
        if near.size:
            place.reshape(-1)[near] = self._by_edges(confidence.reshape(-1)[near])
        return place


@cache
def _edges(bins: int) -> tuple[float, ...]:
    return tuple(np.linspace(0, 1, bins + 1).tolist())
