"""Dual focal loss in a recipe against its worked numbers."""

import pytest

from mixcal.methods.calibrators.dual_focal import dual_focal
from tests.support.fixtures import FIXTURE_A, LABELS_A, one_hot
from tests.support.toy import toy_facts


@pytest.mark.parametrize(("gamma", "expected"), [(1, 0.626227), (3, 0.470601), (5, 0.384995)])
def test_by_hand(gamma: float, expected: float) -> None:
    criterion = dual_focal(toy_facts(), gamma=gamma).criteria["labeled"]
    found = criterion(FIXTURE_A, one_hot(LABELS_A, 3)).mean()
    assert found.item() == pytest.approx(expected, abs=1e-6)
