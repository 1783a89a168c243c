"""Parabolas on the simplex against scipy's SLSQP from many starts."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from mixcal.judging.rescaling.simplex import lowest_on_simplex


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), rank=st.integers(1, 3))
def test_as_slsqp(seed: int, rank: int) -> None:
    generator = np.random.default_rng(seed)
    root = generator.standard_normal((rank, 3))
    hessian, linear = root.T @ root, generator.standard_normal(3)

    def value(w: np.ndarray) -> float:
        return float(w @ hessian @ w / 2 + linear @ w)

    w = lowest_on_simplex(hessian, linear)
    assert w.min() >= 0
    assert np.isclose(w.sum(), 1)
    theirs = minimize(
        value,
        np.full(3, 1 / 3),
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        method="SLSQP",
        tol=1e-12,
    )
    assert value(w) <= theirs.fun + 1e-9
