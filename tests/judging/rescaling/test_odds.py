"""Log-odds against exact fractions, also where a probability rounds to one."""

from fractions import Fraction

import numpy as np
import pytest

from mixcal.judging.rescaling.odds import Odds


def test_against_fractions() -> None:
    z = np.log(np.array([[1.0, 2, 5], [8, 1, 1], [3, 3, 2]]))
    odds = Odds.of(z)
    for row, values in enumerate([(1, 2, 5), (8, 1, 1), (3, 3, 2)]):
        for c in range(3):
            exact = Fraction(values[c], sum(values) - values[c])
            assert odds.log_odds(c)[row] == pytest.approx(np.log(float(exact)), abs=1e-12)
            assert odds.probs(c)[row] == pytest.approx(values[c] / sum(values))
    assert odds.top_probs().tolist() == pytest.approx([5 / 8, 8 / 10, 3 / 8])


def test_where_probabilities_round_to_one_and_zero() -> None:
    z = np.array([[100.0, 0, 0], [1e300, 0, -1e300], [0, -5000, -6000]])
    odds = Odds.of(z)
    assert odds.log_odds(0).tolist() == pytest.approx([100 - np.log(2), 1e300, 5000])
    assert odds.log_odds(1).tolist() == pytest.approx([-100, -1e300, -5000])
    assert odds.probs(0).tolist() == [1, 1, 1]
    two = Odds.of(np.array([[3.0, 1.0], [-2.0, 40.0]]))
    assert np.allclose(two.log_odds(0), -two.log_odds(1), rtol=1e-15)
    with np.errstate(divide="ignore"):
        assert np.isfinite(Odds.of(np.log(np.eye(3))).log_odds(1)).all()
