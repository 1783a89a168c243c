"""Conformal sets: thresholds by hand, coverage as promised even at n = 20, scores by a loop."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions, softmax
from mixcal.judging.prediction_sets import SCORES, PredictionSets, fit_sets, quantile

PROBS = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.45, 0.35, 0.2], [0.1, 0.3, 0.6]])
LABELS = np.array([0, 0, 1, 2])


def drawn(n: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of an overconfident model, and labels."""
    generator = np.random.default_rng(seed)
    z = generator.standard_normal((n, k)) * 2
    labels = (z + generator.gumbel(size=(n, k))).argmax(1)
    return softmax(2 * z), labels


def test_thresholds_by_hand() -> None:
    # LAC scores of the true classes: .4 .8 .65 .4; coverage .6: ⌈5 · .6⌉ = 3rd smallest = .65.
    made = PredictionSets.fit(PROBS, LABELS, coverage=0.6)
    assert made.threshold == pytest.approx(0.65)
    assert made.sets(PROBS).tolist() == [
        [True, False, False],
        [False, True, False],
        [True, True, False],
        [False, False, True],
    ]
    # APS scores: .6 .9 .8 .6, hence the 3rd is .8.
    aps = PredictionSets.fit(PROBS, LABELS, score="aps", coverage=0.6)
    assert aps.threshold == pytest.approx(0.8)
    assert aps.sets(PROBS)[2].tolist() == [True, True, False]
    # RAPS with λ = .1 beyond rank 1: .6, .9 + .1, .8 + .1, .6.
    raps = PredictionSets.fit(PROBS, LABELS, score="raps", coverage=0.6, penalty=0.1, free_ranks=1)
    assert raps.threshold == pytest.approx(0.9)


def test_the_rank_has_the_correction_and_knows_its_limit() -> None:
    scores = np.arange(1.0, 21)
    # ⌈21 · .9⌉ = 19, where a plain quantile takes the 18th or 19th.
    assert quantile(scores, 0.9) == 19
    # 10 · .9 is exactly 9, though not in floating point.
    assert quantile(np.arange(1.0, 10), 0.9) == 9
    assert quantile(np.arange(1.0, 9), 0.9) == math.inf
    everything = PredictionSets.fit(PROBS, LABELS, coverage=0.9)
    assert everything.threshold == math.inf
    assert everything.sets(PROBS).all()


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(("n", "coverage"), [(20, 0.9), (20, 0.8), (100, 0.9)])
def test_coverage_is_as_promised(score: str, n: int, coverage: float) -> None:
    rounds, held = 600, 50
    found = []
    for seed in range(rounds):
        probs, labels = drawn(n + held, 5, seed)
        made = PredictionSets.fit(probs[:n], labels[:n], score=score, coverage=coverage)
        found.append(made.sets(probs[n:])[np.arange(held), labels[n:]].mean())
    # The promise holds on average; four standard errors of the average below it is a fault.
    slack = 4 * np.std(found) / math.sqrt(rounds)
    assert np.mean(found) >= coverage - slack


@pytest.mark.parametrize("score", SCORES)
def test_coverage_is_not_more_than_promised_where_ties_are_broken(score: str) -> None:
    found = []
    for seed in range(600):
        probs, labels = drawn(70, 5, seed)
        made = PredictionSets.fit(
            probs[:20], labels[:20], score=score, randomize=True, allow_empty=True, seed=seed
        )
        found.append(made.sets(probs[20:])[np.arange(50), labels[20:]].mean())
    # Exactly ⌈21 · .9⌉ / 21 = 19 / 21 for continuous scores.
    assert np.mean(found) == pytest.approx(19 / 21, abs=4 * np.std(found) / math.sqrt(600))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 30), k=st.integers(2, 6))
def test_a_slow_loop_says_the_same(seed: int, n: int, k: int) -> None:
    probs, labels = drawn(n, k, seed)
    made = PredictionSets.fit(probs, labels, score="raps", coverage=0.7, penalty=0.05, free_ranks=1)

    def slow(row: np.ndarray, c: int) -> float:
        before = [j for j in range(k) if row[j] > row[c] or (row[j] == row[c] and j <= c)]
        return float(sum(row[j] for j in before)) + 0.05 * max(len(before) - 1, 0)

    own = sorted(slow(row, y) for row, y in zip(probs, labels, strict=True))
    rank = math.ceil(round((n + 1) * 0.7, 9))
    assert made.threshold == pytest.approx(own[rank - 1] if rank <= n else math.inf)
    inside = made.sets(probs)
    assert inside[np.arange(n), probs.argmax(1)].all()
    order = np.random.default_rng(0).permutation(n)
    assert (made.sets(probs[order]) == inside[order]).all()


def test_more_coverage_means_larger_sets() -> None:
    probs, labels = drawn(300, 5, 0)
    sizes = [
        PredictionSets.fit(probs, labels, score="aps", coverage=c).sets(probs).sum()
        for c in (0.5, 0.8, 0.9, 0.99)
    ]
    assert sizes == sorted(sizes)


def test_saved_and_loaded(tmp_path: Path) -> None:
    for coverage in (0.6, 0.95):
        made = PredictionSets.fit(PROBS, LABELS, score="raps", coverage=coverage)
        made.save(tmp_path / "sets.json")
        assert PredictionSets.load(tmp_path / "sets.json") == made
    (tmp_path / "sets.json").write_text("{}")
    with pytest.raises(BadInput, match="holds no prediction sets"):
        PredictionSets.load(tmp_path / "sets.json")


def test_nonsense_is_named() -> None:
    with pytest.raises(BadInput, match="score is 'las'"):
        PredictionSets.fit(PROBS, LABELS, score="las")
    with pytest.raises(BadInput, match=r"coverage is 1\.5"):
        PredictionSets.fit(PROBS, LABELS, coverage=1.5)
    with pytest.raises(BadInput, match="say logits"):
        PredictionSets.fit(np.log(PROBS), LABELS)
    with pytest.raises(BadInput, match="the split is test"):
        fit_sets(Predictions.of(LABELS, probs=PROBS))
    with pytest.raises(BadInput, match="no knob 'alpha'"):
        fit_sets(Predictions.of(LABELS, probs=PROBS, split="validation"), alpha=0.1)
