"""Intervals against the truth: models whose population error is known, drawn some hundred times.

The full simulation is benchmarks/coverage.py; docs/metrics.md has its tables.
"""

import json
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from benchmarks.coverage import LEVEL, MODELS, SIZES, covered, within_null_band
from mixcal.judging.metrics.reliability import Reliability

DRAWS = 80
ROWS = Path(__file__).parents[3] / "docs" / "evidence" / "rows" / "coverage"
# Three standard deviations of the share among so many draws.
CHANCE = 3 * sqrt(0.85 * 0.15 / DRAWS)


@pytest.mark.parametrize(("name", "n"), [("slightly over", 500), ("both ways", 5000)])
def test_nominal_ninety_percent_cover_eighty_five(name: str, n: int) -> None:
    found = covered(MODELS[name], n, replicates=DRAWS, metrics=("ece",))["ece"]
    assert found["covered"] >= 0.85 - CHANCE
    # An interval from 0 to 1 would cover, too.
    assert found["width"] < 3.0 / sqrt(n)


@pytest.mark.parametrize("n", [500, 2000, 10_000])
def test_very_sure_models_are_covered(n: int) -> None:
    """Of 500 samples one is wrong, or none; then no variance is seen."""
    names = ("ece", "oe", "rms_ce")
    found = covered(MODELS["very sure"], n, replicates=DRAWS, metrics=names)
    for name in names:
        assert found[name]["covered"] >= 0.85 - CHANCE, name
        assert found[name]["width"] < 0.3 / sqrt(n), name


def test_the_percentile_bootstrap_would_not() -> None:
    """What the intervals are for: resampling folds the noise of every gap once more."""
    model, generator = MODELS["slightly over"], np.random.default_rng(0)
    truth, held = 0.03, 0
    for _ in range(40):
        sums: Reliability = model.drawn(1000, generator)
        counts = generator.multinomial(1000, sums.shares, size=200)
        right = generator.binomial(counts, sums.accuracies)
        drawn = np.abs(counts * sums.confidences - right).sum(1) / 1000
        low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        held += low <= truth <= high
    assert held / 40 < 0.6


@pytest.mark.parametrize("n", [500, 5000])
def test_the_null_band_holds_a_calibrated_model_as_often_as_it_says(n: int) -> None:
    inside = within_null_band(MODELS["calibrated"], n, replicates=300)
    chance = 3 * sqrt(0.09 / 300)
    assert LEVEL - chance <= inside <= LEVEL + chance


def test_truths_by_hand() -> None:
    # Where every bin is off by 0.03, so is every average of bins.
    found = MODELS["slightly over"].truth()
    for name in ("ece", "oe", "rms_ce", "ace", "mce"):
        assert found[name] == pytest.approx(0.03, abs=1e-9), name
    assert found["ue"] == 0
    # Of many samples the observed errors are the truths.
    sums = MODELS["both ways"].drawn(200_000, np.random.default_rng(0))
    truth = MODELS["both ways"].truth()
    assert sums.expected_error() == pytest.approx(truth["ece"], abs=0.004)
    assert sums.overconfidence() == pytest.approx(truth["oe"], abs=0.004)
    assert sums.underconfidence() == pytest.approx(truth["ue"], abs=0.004)


def test_the_recorded_simulation_keeps_what_is_promised() -> None:
    records = [json.loads(path.read_text()) for path in sorted(ROWS.glob("*.json"))]
    assert {record["n"] for record in records} == set(SIZES)
    for record in records:
        assert record["replicates"] >= 1000
        if record["n"] >= 500:
            assert record["lowest"]["ece"] >= 0.85
            assert 0.85 <= record["null band"] <= 0.95
            assert record["calibrated"]["ece"]["covered"] >= 0.85
