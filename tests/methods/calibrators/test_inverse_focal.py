"""Inverse focal loss in a recipe against its worked numbers; pseudo-labels stay as they were."""

import pytest

from mixcal.methods.calibrators.inverse_focal import inverse_focal
from tests.support.fixtures import FIXTURE_A, LABELS_A, one_hot
from tests.support.toy import toy_facts


@pytest.mark.parametrize(("gamma", "expected"), [(1, 1.009334), (2, 1.365541)])
def test_by_hand(gamma: float, expected: float) -> None:
    criterion = inverse_focal(toy_facts(), gamma=gamma).criteria["labeled"]
    found = criterion(FIXTURE_A, one_hot(LABELS_A, 3)).mean()
    assert found.item() == pytest.approx(expected, abs=1e-6)


def test_pseudo_labels_are_left_alone_unless_named() -> None:
    assert set(inverse_focal(toy_facts()).criteria) == {"labeled", "mixed"}
