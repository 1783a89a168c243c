"""Focal calibration loss in a recipe against its worked number."""

import pytest

from mixcal.methods.calibrators.fcl import fcl
from tests.support.fixtures import FIXTURE_A, LABELS_A, one_hot
from tests.support.toy import toy_facts


def test_by_hand() -> None:
    found = fcl(toy_facts()).criteria["labeled"](FIXTURE_A, one_hot(LABELS_A, 3)).mean()
    assert found.item() == pytest.approx(0.618991, abs=1e-6)
