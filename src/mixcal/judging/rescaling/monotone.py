"""The rising curve nearest to zeros and ones: isotonic regression, read off between its points."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Bool, Float


@dataclass(frozen=True, slots=True)
class RisingCurve:
    """Scores in order and the curve's values there, none of them twice in a row but at its ends."""

    scores: Float[np.ndarray, " m"]
    values: Float[np.ndarray, " m"]

    @classmethod
    def fit(cls, scores: Float[np.ndarray, " n"], right: Bool[np.ndarray, " n"]) -> Self:
        """By least squares; equal scores count as one point, with their mean."""
        from scipy.optimize import isotonic_regression

        points, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
        means = np.bincount(place, weights=right) / counts
        values = isotonic_regression(means, weights=counts).x
        flat = np.zeros(len(points), dtype=bool)
        flat[1:-1] = (values[1:-1] == values[:-2]) & (values[1:-1] == values[2:])
        return cls(points[~flat], values[~flat])

    def at(self, scores: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The value at each score, straight between the points and level beyond them."""
        return np.interp(scores, self.scores, self.values)
