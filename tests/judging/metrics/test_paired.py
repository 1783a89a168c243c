"""Paired differences against plain differences of the metrics, a slow bootstrap, and coverage."""

import time
from collections.abc import Callable

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions, softmax
from mixcal.judging.metrics.equal_mass import adaptive_error
from mixcal.judging.metrics.paired import (
    NORMAL_FROM,
    Difference,
    _of_shares,
    paired_difference,
)
from mixcal.judging.metrics.paired_columns import PAIRED, summed_metric
from mixcal.judging.metrics.ranking import area_under_risk_coverage, confidence_auroc
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.samples import Samples

RELIABILITY: dict[str, Callable[[Reliability], float]] = {
    "ece": Reliability.expected_error,
    "rms_ce": Reliability.root_mean_squared_error,
    "oe": Reliability.overconfidence,
    "ue": Reliability.underconfidence,
    "oe_weighted": lambda sums: sums.overconfidence(weighted=True),
    "ue_weighted": lambda sums: sums.underconfidence(weighted=True),
}
PLAIN: dict[str, Callable[[Samples], float]] = {
    "accuracy": lambda s: float(s.right.mean()),
    "error": lambda s: float(1 - s.right.mean()),
    "nll": lambda s: float(s.log_loss.mean()),
    "brier": lambda s: float(s.brier.mean()),
    "mean_confidence": lambda s: float(s.confidence.mean()),
    "adaptive_ece": lambda s: adaptive_error(s.confidence, s.right),
    "aurc": lambda s: area_under_risk_coverage(s.confidence, s.right),
    "confidence_auroc": lambda s: confidence_auroc(s.confidence, s.right),
}


def drawn(
    n: int, *, first: float = 1.0, second: float = 0.6, noise: float = 0.3, seed: int = 0
) -> tuple[Samples, Samples]:
    """Two models on the same samples; a temperature below 1 makes overconfident."""
    generator = np.random.default_rng(seed)
    logits = 1.5 * generator.normal(size=(n, 5))
    labels = (logits + generator.gumbel(size=logits.shape)).argmax(1)
    other = (logits + noise * generator.normal(size=logits.shape)) / second
    made = [Samples.of_scores(scores, labels, "logits") for scores in (logits / first, other)]
    return made[0], made[1]


def plain(metric: str, samples: Samples) -> float:
    if metric in RELIABILITY:
        sums = Reliability.of_confidence(samples.confidence, samples.right, bins=15)
        return RELIABILITY[metric](sums)
    return PLAIN[metric](samples)


def tied(samples: Samples) -> Samples:
    return Samples(
        confidence=np.round(samples.confidence, 1),
        right=samples.right,
        log_loss=samples.log_loss,
        brier=samples.brier,
    )


@pytest.mark.parametrize("metric", PAIRED)
def test_values_are_those_of_the_metric_itself(metric: str) -> None:
    for first, second in (drawn(700), tuple(map(tied, drawn(300, seed=1)))):
        found = paired_difference(first, second, metric, replicates=50)
        assert found.first == pytest.approx(plain(metric, first), abs=1e-12)
        assert found.second == pytest.approx(plain(metric, second), abs=1e-12)
        assert found.value == pytest.approx(found.first - found.second)
        assert found.low <= found.value <= found.high


@pytest.mark.parametrize("metric", PAIRED)
def test_a_model_does_not_differ_from_itself(metric: str) -> None:
    first, _ = drawn(500)
    found = paired_difference(first, first, metric, replicates=200)
    assert found.value == 0
    assert not found.differs
    if metric not in ("accuracy", "error"):
        assert found.low == found.high == 0


def test_models_that_are_nearly_the_same_are_known_to_be() -> None:
    """Near calibration the inverted test alone gave 0.066, twice what is known."""
    generator = np.random.default_rng(0)
    logits = 2 * generator.standard_normal((2000, 10))
    labels = (softmax(logits).cumsum(1) < generator.random((2000, 1))).sum(1).clip(0, 9)
    first, second = (
        Samples.of(Predictions.of(labels, logits=scale * logits)) for scale in (1.0, 1.02)
    )
    found = paired_difference(first, second, "ece", level=0.9)
    assert found.low < 0 < found.high
    assert found.high - found.low < 0.05


def test_very_sure_models_are_not_known_to_be_equal() -> None:
    """Neither made a mistake: of 500 samples a Poisson draw of three may show none."""
    sure = np.tile([0.999, 0.001], (500, 1))
    surer = np.tile([0.9999, 0.0001], (500, 1))
    first, second = (
        Samples.of_scores(probs, np.zeros(500, int), "probs") for probs in (sure, surer)
    )
    found = paired_difference(first, second, "ece")
    assert found.value == pytest.approx(0.0009)
    # Agresti & Min: half a sample for each way to disagree.
    reach = 1.959964 / 502
    assert (found.low, found.high) == pytest.approx((0.0009 - reach, 0.0009 + reach), abs=1e-6)


def test_a_mean_by_hand() -> None:
    """Every sample is 0.3 better: however they are drawn, the difference is 0.3."""
    first, _ = drawn(50)
    better = Samples(
        confidence=first.confidence,
        right=first.right,
        log_loss=first.log_loss + 0.3,
        brier=first.brier,
    )
    found = paired_difference(better, first, "nll")
    assert [found.low, found.value, found.high] == pytest.approx([0.3, 0.3, 0.3])
    assert found.differs
    ends = Difference(first=0.0, second=0.0, value=0.0, low=0.0, high=0.1)
    assert not ends.differs, "an interval that ends at zero does not exclude it"


@pytest.mark.parametrize("metric", ["error", "nll", "aurc", "confidence_auroc"])
def test_the_quick_form_agrees_with_drawing_samples_one_by_one(metric: str) -> None:
    first, second = drawn(400)
    quick = paired_difference(first, second, metric, replicates=2000)
    slow = paired_difference(first, second, PLAIN[metric], replicates=2000, seed=1)
    assert slow.value == pytest.approx(quick.value, abs=1e-12)
    width = slow.high - slow.low
    assert [quick.low, quick.high] == pytest.approx([slow.low, slow.high], abs=0.1 * width)


@pytest.mark.parametrize("metric", ["aurc", "confidence_auroc", "rms_ce"])
def test_columns_move_as_the_metric_does_when_a_sample_counts_twice(metric: str) -> None:
    samples, _ = drawn(3000)
    summed = summed_metric(metric)
    assert summed is not None
    columns = summed.columns(samples)
    means = columns.mean(0)
    n, before = len(samples), plain(metric, samples)
    for i in (0, 17, 2999):
        twice = plain(metric, samples.take(np.append(np.arange(n), i)))
        said = summed.norm((means + (columns[i] - means) / (n + 1))[None])[0]
        assert said - before == pytest.approx(twice - before, rel=0.02, abs=2e-7)


def test_the_normal_limit_agrees_with_drawing() -> None:
    first, second = drawn(NORMAL_FROM)
    more = np.append(np.arange(NORMAL_FROM), 0)
    drawing = paired_difference(first, second, "ece", replicates=500)
    limit = paired_difference(first.take(more), second.take(more), "ece", replicates=500)
    width = drawing.high - drawing.low
    assert [limit.low, limit.high] == pytest.approx([drawing.low, drawing.high], abs=0.15 * width)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["ece", "rms_ce", "oe", "aurc", "nll"])
@pytest.mark.parametrize(
    ("first", "second", "noise"), [(1.0, 0.6, 0.3), (0.6, 0.6, 0.5), (0.8, 0.7, 0.3)]
)
def test_intervals_cover(metric: str, first: float, second: float, noise: float) -> None:
    """Nominal 90 %, 600 data sets of 1,000, of which at least 85 % must be covered."""
    whole = drawn(1_000_000, first=first, second=second, noise=noise, seed=1)
    truth = plain(metric, whole[0]) - plain(metric, whole[1])
    covered = 0
    for seed in range(600):
        pair = drawn(1000, first=first, second=second, noise=noise, seed=100 + seed)
        found = paired_difference(*pair, metric, level=0.9, replicates=400, seed=seed)
        covered += found.low <= truth <= found.high
    assert covered >= 0.85 * 600


def test_shares_by_hand() -> None:
    """Agresti & Min with 3 and 1 disagreements of 10: (3.5 − 1.5) / 12 ± z √(5 − 4 / 12) / 12."""
    labels = np.zeros(10, dtype=np.int64)
    first, second = (
        Samples.of(Predictions.of(labels, probs=np.where(wrong[:, None], [0.1, 0.9], [0.9, 0.1])))
        for wrong in (np.arange(10) == 9, np.isin(np.arange(10), [0, 1, 2]))
    )
    half = 1.959964 * np.sqrt(5 - 4 / 12) / 12
    for metric, sign in (("accuracy", 1), ("error", -1)):
        found = paired_difference(first, second, metric)
        assert found.value == pytest.approx(sign * 0.2)
        ends = sorted((sign * 2 / 12 - half, sign * 2 / 12 + half))
        assert [found.low, found.high] == pytest.approx(ends, abs=1e-6)


def test_models_that_never_disagree_are_not_known_to_be_equal() -> None:
    same, _ = drawn(1000)
    found = paired_difference(same, same, "error")
    assert found.value == 0
    assert -0.005 < found.low < -0.001
    assert 0.001 < found.high < 0.005


def test_intervals_of_shares_cover_between_models_that_hardly_differ() -> None:
    """Nominal 95 %, 2,000 pairs of n = 1,000 that disagree once in a thousand samples each way."""
    generator = np.random.default_rng(0)
    covered = 0
    for _ in range(2000):
        draw = generator.choice(3, size=1000, p=[0.998, 0.001, 0.001])
        ends = _of_shares(draw != 1, draw != 2, 1.959964, sign=1)
        covered += ends.low <= 0 <= ends.high
    assert covered >= 0.94 * 2000


def test_a_thousand_replicates_are_quick() -> None:
    first, second = drawn(10_000)
    times = []
    for _ in range(3):
        began = time.process_time()
        paired_difference(first, second, "ece", replicates=1000)
        times.append(time.process_time() - began)
    assert min(times) < 0.4


def test_what_cannot_be_paired() -> None:
    first, second = drawn(20)
    with pytest.raises(BadInput, match="20 and 10 samples cannot be paired"):
        paired_difference(first, second.take(np.arange(10)), "ece")
    with pytest.raises(BadInput, match="one of accuracy, error"):
        paired_difference(first, second, "kde_ece")
    sure = Samples(
        confidence=first.confidence,
        right=np.ones(20, dtype=bool),
        log_loss=np.full(20, np.inf),
        brier=first.brier,
    )
    for metric in ("nll", "confidence_auroc"):
        with pytest.raises(BadInput, match="have no difference"):
            paired_difference(sure, second, metric)
