"""Scores of foreign samples against their formulas, and their detection against slow loops."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions
from mixcal.judging.metrics.out_of_distribution import SCORES, Detection, foreignness

LOGITS = np.array([[2.0, 1.0, -1.0], [0.0, 0.0, 0.0], [300.0, 0.0, -300.0]])


def test_scores_by_hand() -> None:
    made = Predictions.of(np.zeros(3, int), logits=LOGITS)
    total = math.exp(2) + math.exp(1) + math.exp(-1)
    p = [math.exp(z) / total for z in (2, 1, -1)]
    expected = {
        "max_softmax": [1 - p[0], 2 / 3, 0],
        "entropy": [-sum(x * math.log(x) for x in p), math.log(3), 0],
        "energy": [-math.log(total), -math.log(3), -300],
        "max_logit": [-2, 0, -300],
    }
    assert set(expected) == set(SCORES)
    for name, values in expected.items():
        assert foreignness(made, name) == pytest.approx(values, abs=1e-12), name
    probs = Predictions.of(np.zeros(3, int), probs=made.probs)
    for name in ("max_softmax", "entropy"):
        assert foreignness(probs, name) == pytest.approx(expected[name], abs=1e-12), name
    with pytest.raises(BadInput, match="energy needs logits, these are probabilities"):
        foreignness(probs, "energy")


def test_detection_by_the_book() -> None:
    generator = np.random.default_rng(0)
    familiar = generator.integers(0, 8, 60).astype(float)
    foreign = generator.integers(3, 11, 40).astype(float)
    found = Detection.of(familiar, foreign)
    wins = [(f > o) + 0.5 * (f == o) for f in foreign for o in familiar]
    assert found.auroc.value == pytest.approx(np.mean(wins))
    assert found.auroc.low < found.auroc.value < found.auroc.high

    def rate(positive: np.ndarray, negative: np.ndarray) -> float:
        for threshold in sorted(set(positive.tolist()), reverse=True):
            if (positive >= threshold).mean() >= 0.95:
                return float((negative >= threshold).mean())
        raise AssertionError

    def precision(positive: np.ndarray, negative: np.ndarray) -> float:
        area = recall = 0.0
        for threshold in sorted({*positive.tolist(), *negative.tolist()}, reverse=True):
            hits, alarms = (positive >= threshold).sum(), (negative >= threshold).sum()
            area += (hits / len(positive) - recall) * hits / (hits + alarms)
            recall = hits / len(positive)
        return area

    assert found.fpr95_out.value == pytest.approx(rate(foreign, familiar))
    assert found.fpr95_in.value == pytest.approx(rate(-familiar, -foreign))
    assert found.aupr_out.value == pytest.approx(precision(foreign, familiar))
    assert found.aupr_in.value == pytest.approx(precision(-familiar, -foreign))
    assert (found.familiar, found.foreign) == (60, 40)


def test_told_apart_and_not_at_all() -> None:
    apart = Detection.of(np.zeros(200), np.ones(50))
    assert (apart.auroc.value, apart.auroc.high) == (1, 1)
    # Fifty hits in fifty: 0.025 ** (1 / 50).
    assert apart.auroc.low == pytest.approx(0.9289, abs=1e-4)
    assert apart.fpr95_out.value == apart.fpr95_in.value == 0
    alike = Detection.of(np.zeros(200), np.zeros(50))
    assert alike.auroc.value == 0.5
    assert alike.auroc.low < 0.5 < alike.auroc.high
    assert alike.fpr95_out.value == 1


def test_intervals_hold_what_two_normals_of_unit_width_have() -> None:
    """The threshold of the FPR@95 is drawn, too: Wilson's interval of a share held it in 25 %."""
    normal, apart, n, m = NormalDist(), 2.0, 5000, 500
    rate = 1 - normal.cdf(normal.inv_cdf(0.05) + apart)
    at = np.linspace(-8, 10, 4001)
    found, alarms, density = (
        np.array([f(x) for x in at])
        for f in (
            lambda x: 1 - normal.cdf(x - apart),
            lambda x: 1 - normal.cdf(x),
            lambda x: normal.pdf(x - apart),
        )
    )
    area = np.trapezoid(m * found / (m * found + n * alarms + 1e-300) * density, at)
    held = np.zeros(2)
    for seed in range(100):
        generator = np.random.default_rng(seed)
        familiar, foreign = generator.standard_normal(n), apart + generator.standard_normal(m)
        made = Detection.of(familiar, foreign)
        held += [
            made.fpr95_out.low <= rate <= made.fpr95_out.high,
            made.aupr_out.low <= area <= made.aupr_out.high,
        ]
        assert made.fpr95_out.high - made.fpr95_out.low < 0.35
        assert made.aupr_out.high - made.aupr_out.low < 0.12
    # Nominal 95 %; three standard deviations of a share among a hundred.
    assert (held / 100 >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 100)).all(), held


def test_without_an_exception_the_areas_stay_open() -> None:
    apart = Detection.of(np.zeros(200), np.ones(50))
    assert apart.aupr_out.value == apart.aupr_out.high == 1
    # Of 200 familiar ones 1 − 0.025 ** (1 / 200) may lie above all foreign ones.
    escaped = 200 * (1 - 0.025 ** (1 / 200)) / 50
    assert apart.aupr_out.low == pytest.approx(1 - escaped * math.log(1 + 1 / escaped))
    # Fifty foreign samples do not bound the 5 % quantile of such ones from below.
    assert apart.fpr95_out.high == 1
