"""The solver against a Hessian built by hand, and blocks against everything at once."""

import numpy as np
import pytest

from mixcal.judging.rescaling import softmax_regression
from mixcal.judging.rescaling.softmax_regression import ALL, EACH, LinearMap, Problem, minimized


def problem(which: LinearMap, n: int = 60, k: int = 3) -> Problem:
    generator = np.random.default_rng(0)
    rows = 2 if which is EACH else k + 1
    return Problem(
        map=which,
        inputs=generator.standard_normal((n, k)) * 2,
        scale=1.5,
        labels=generator.integers(0, k, n),
        penalties=generator.random((rows, k)) + 0.1,
        center=generator.standard_normal((rows, k)),
    )


@pytest.mark.parametrize("which", [EACH, ALL])
def test_derivatives_are_differences(which: LinearMap) -> None:
    made = problem(which)
    theta = np.random.default_rng(1).standard_normal(made.center.shape)
    kept = made.probs(theta)
    gradient, diagonal = made.gradient(theta, kept)
    for place in np.ndindex(*theta.shape):
        step = np.zeros_like(theta)
        step[place] = 1e-5
        slope = (made.value(theta + step) - made.value(theta - step)) / 2e-5
        assert gradient[place] == pytest.approx(slope, rel=1e-6, abs=1e-8)
        bent = made.gradient(theta + step, made.probs(theta + step))[0]
        bent = (bent - made.gradient(theta - step, made.probs(theta - step))[0]) / 2e-5
        assert np.allclose(made.curvature(theta, kept, step / 1e-5), bent, atol=1e-7)
        assert diagonal[place] == pytest.approx(bent[place], abs=1e-7)


@pytest.mark.parametrize("which", [EACH, ALL])
def test_the_gradient_ends_at_zero(which: LinearMap) -> None:
    made = problem(which)
    theta = minimized(made, made.center)
    assert np.abs(made.gradient(theta, None)[0]).max() < 1e-9


def test_blocks_and_probabilities_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    made = problem(ALL, n=200)
    whole = minimized(made, made.center)
    monkeypatch.setattr("mixcal.judging.rescaling.fitting_data.BLOCK", 30)
    monkeypatch.setattr(softmax_regression, "KEPT", 10)
    assert np.allclose(minimized(made, made.center), whole, atol=1e-10)
