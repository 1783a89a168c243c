"""The Brier score in a recipe against its worked numbers, summed or averaged over classes."""

import pytest

from mixcal.methods.calibrators.brier import brier
from tests.support.fixtures import FIXTURE_A, LABELS_A, one_hot
from tests.support.toy import toy_facts


@pytest.mark.parametrize(("reduction", "expected"), [("sum", 0.470388), ("mean_K", 0.156796)])
def test_by_hand(reduction: str, expected: float) -> None:
    criterion = brier(toy_facts(), reduction=reduction).criteria["labeled"]
    found = criterion(FIXTURE_A, one_hot(LABELS_A, 3)).mean()
    assert found.item() == pytest.approx(expected, abs=1e-6)
