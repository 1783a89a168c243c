"""The lowest point of a convex parabola on the simplex, by trying every face."""

from itertools import combinations

import numpy as np
from jaxtyping import Float


def lowest_on_simplex(
    hessian: Float[np.ndarray, "m m"], linear: Float[np.ndarray, " m"]
) -> Float[np.ndarray, " m"]:
    """The w ≥ 0, Σ w = 1 with the least ½ wᵀ H w + gᵀ w; for a handful of dimensions."""
    m = len(linear)
    best, lowest = np.full(m, 1 / m), np.inf
    for size in range(1, m + 1):
        for face in combinations(range(m), size):
            kept = list(face)
            system = np.ones((size + 1, size + 1))
            system[:size, :size] = hessian[np.ix_(kept, kept)]
            system[size, size] = 0
            w = np.zeros(m)
            # Least squares: faces of equal components have a line of solutions.
            w[kept] = np.linalg.lstsq(system, np.append(-linear[kept], 1.0), rcond=None)[0][:size]
            if w.min() < -1e-12:
                continue
            w = np.maximum(w, 0) / np.maximum(w, 0).sum()
            value = float(w @ hessian @ w / 2 + linear @ w)
            if value < lowest:
                best, lowest = w, value
    return best
