"""Margin-based label smoothing in a recipe against its worked number."""

import pytest

from mixcal.methods.calibrators.mbls import mbls
from tests.support.fixtures import FIXTURE_A, LABELS_A, one_hot
from tests.support.toy import toy_facts


def test_by_hand() -> None:
    criterion = mbls(toy_facts(), margin=1.0).criteria["labeled"]
    found = criterion(FIXTURE_A, one_hot(LABELS_A, 3)).mean()
    assert found.item() == pytest.approx(0.850543, abs=1e-6)
