"""Parts of uncertainty: numbers worked out by hand, and what holds for all members."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixcal.predicting.uncertainty import Uncertainty, entropy


def test_by_hand() -> None:
    found = Uncertainty.of(np.array([[[0.9, 0.1]], [[0.5, 0.5]], [[0.7, 0.3]]]))
    assert found.total[0] == pytest.approx(0.610864, abs=1e-6)
    assert found.expected[0] == pytest.approx(0.543031, abs=1e-6)
    assert found.mutual_information[0] == pytest.approx(0.067833, abs=1e-6)


def test_certainty_and_ignorance() -> None:
    assert entropy(np.array([[1.0, 0.0], [0.5, 0.5]])).tolist() == pytest.approx([0, np.log(2)])
    # Members that are certain of different classes disagree in everything.
    apart = Uncertainty.of(np.array([[[1.0, 0.0]], [[0.0, 1.0]]]))
    assert apart.mutual_information[0] == pytest.approx(np.log(2))


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(2, 5))
def test_bounds(seed: int, members: int, classes: int) -> None:
    probs = np.random.default_rng(seed).dirichlet([0.3] * classes, size=(members, 8))
    found = Uncertainty.of(probs)
    assert (found.mutual_information >= 0).all()
    assert (found.total <= np.log(classes) + 1e-12).all()
    assert np.allclose(found.total - found.expected, found.mutual_information, atol=1e-12)
    alike = Uncertainty.of(np.repeat(probs[:1], members, axis=0))
    assert alike.mutual_information == pytest.approx(np.zeros(8), abs=1e-12)
