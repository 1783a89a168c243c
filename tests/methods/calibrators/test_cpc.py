"""Pairwise constraints in a recipe against their worked numbers."""

import pytest

from mixcal.methods.calibrators.cpc import cpc
from tests.support.fixtures import FIXTURE_A, LABELS_A, one_hot
from tests.support.toy import toy_facts


@pytest.mark.parametrize(
    ("weights", "expected"),
    [((0.1, 1.0), 1.338625), ((1.0, 0.0), 0.779709 + 0.431006), ((0.0, 0.0), 0.779709)],
)
def test_by_hand(weights: tuple[float, float], expected: float) -> None:
    criterion = cpc(
        toy_facts(), discrimination_weight=weights[0], exclusion_weight=weights[1]
    ).criteria["labeled"]
    found = criterion(FIXTURE_A, one_hot(LABELS_A, 3)).mean()
    assert found.item() == pytest.approx(expected, abs=2e-6)
