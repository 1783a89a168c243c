"""Scores of foreign samples against their formulas, and their detection against slow loops."""

import math

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
    assert found.aupr_out == pytest.approx(precision(foreign, familiar))
    assert found.aupr_in == pytest.approx(precision(-familiar, -foreign))
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
