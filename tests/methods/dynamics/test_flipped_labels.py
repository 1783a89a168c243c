"""Margins against labels that were flipped on purpose: the ranking finds them."""

import os

import pytest

from benchmarks.flipped_labels import measured


@pytest.mark.slow
@pytest.mark.real_data
def test_small_margins_find_flipped_labels() -> None:
    folder = os.environ.get("MIXCAL_DATA", "")
    if not folder:
        pytest.skip("MIXCAL_DATA is not set")
    record = measured(folder, limit=12_000, epochs=4)
    assert record["flipped"] == 1_200
    assert record["auroc"] >= 0.9
