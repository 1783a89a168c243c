"""Metrics against what must hold for any predictions: bounds, order, merging, two classes.

Probabilities are small whole numbers over their sum: ties, exact zeros and exact ones abound.
"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixcal.core.predictions import Predictions
from mixcal.judging.metrics.classwise import ClasswiseReliability
from mixcal.judging.metrics.equal_mass import adaptive_error
from mixcal.judging.metrics.human import HumanReliability
from mixcal.judging.metrics.kernel_density import kernel_density_error
from mixcal.judging.metrics.partition import Partition
from mixcal.judging.metrics.ranking import (
    area_under_risk_coverage,
    confidence_auroc,
    kolmogorov_smirnov_error,
    kuiper_error,
)
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.metrics.reliability_intervals import error_interval, maximum_interval
from mixcal.judging.metrics.smooth import smooth_error
from mixcal.judging.samples import Samples
from mixcal.judging.summary import summarized

SOME = settings(max_examples=25, deadline=None)
EXACT = {"rel": 1e-12, "abs": 1e-12}
Pair = tuple[np.ndarray, np.ndarray]


@st.composite
def predictions(draw: st.DrawFn, classes: int | None = None) -> Pair:
    k = draw(st.integers(2, 5)) if classes is None else classes
    n = draw(st.integers(1, 40))
    row = st.lists(st.integers(0, 4), min_size=k, max_size=k).filter(any)
    weights = np.array(draw(st.lists(row, min_size=n, max_size=n)), dtype=np.float64)
    labels = draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n))
    return weights / weights.sum(1, keepdims=True), np.array(labels)


# Made in the tests: type checks draw random numbers, which hypothesis forbids in strategies.
RULES = st.tuples(st.integers(1, 20), st.sampled_from(["right", "left"]), st.booleans())


def all_values(probs: np.ndarray, labels: np.ndarray, partition: Partition) -> dict[str, float]:
    samples = Samples.of_scores(probs, labels, "probs")
    pair = samples.confidence, samples.right
    sums = Reliability.of_confidence(*pair, bins=partition)
    return {
        "accuracy": sums.accuracy(),
        "mean_confidence": sums.mean_confidence(),
        "ece": sums.expected_error(),
        "mce": sums.maximum_error(),
        "rms_ce": sums.root_mean_squared_error(),
        "ace": sums.average_error(),
        "oe": sums.overconfidence(),
        "ue": sums.underconfidence(),
        "oe_weighted": sums.overconfidence(weighted=True),
        "ue_weighted": sums.underconfidence(weighted=True),
        "debiased_ece": sums.debiased_error(),
        "classwise_ece": ClasswiseReliability.of(probs, labels, bins=partition).expected_error(),
        "adaptive_ece": adaptive_error(*pair),
        "smooth_ece": smooth_error(*pair),
        "kde_ece": kernel_density_error(*pair, points=1 << 10),
        "ks": kolmogorov_smirnov_error(*pair),
        "kuiper": kuiper_error(*pair),
        "aurc": area_under_risk_coverage(*pair),
        "auroc": confidence_auroc(*pair),
        "brier": float(samples.brier.mean()) / 2,
    }


@given(predictions(), RULES)
@SOME
def test_bounds_and_inequalities(made: Pair, rule: tuple) -> None:
    found = all_values(*made, Partition.equal(*rule))
    for name, value in found.items():
        assert np.isnan(value) or -1e-12 <= value <= 1 + 1e-12, name
    slack = 1e-12
    assert found["oe"] + found["ue"] == pytest.approx(found["ece"], **EXACT)
    assert found["oe_weighted"] <= found["oe"] + slack
    assert found["ece"] <= found["rms_ce"] + slack <= found["mce"] + 2 * slack
    assert found["ace"] <= found["mce"] + slack
    # However it is cut, the mean gap over all samples is a lower bound.
    overall = abs(found["mean_confidence"] - found["accuracy"])
    for name in ("ece", "adaptive_ece", "ks"):
        assert overall <= found[name] + slack, name
    assert found["ks"] <= found["kuiper"] + slack <= 2 * found["ks"] + 3 * slack


@given(predictions(), RULES, st.randoms(use_true_random=False))
@SOME
def test_the_order_of_samples_does_not_matter(made: Pair, rule: tuple, order) -> None:
    probs, labels = made
    shuffled = list(range(len(labels)))
    order.shuffle(shuffled)
    before, after = (
        all_values(*pair, Partition.equal(*rule))
        for pair in (made, (probs[shuffled], labels[shuffled]))
    )
    for name, value in before.items():
        assert after[name] == pytest.approx(value, nan_ok=True, **EXACT), name


@pytest.mark.parametrize("n", [30, 600])
def test_nor_for_the_ends_of_intervals(n: int) -> None:
    generator = np.random.default_rng(n)
    # Seven confidences: nearly all samples are tied, and many runs would end within a tie.
    probs = generator.integers(1, 8, n) / 8
    labels = (generator.random(n) > probs).astype(np.int64)
    made = np.stack([probs, 1 - probs], axis=1)
    before = summarized(Predictions.of(labels, probs=made))["metrics"]
    for _ in range(5):
        order = generator.permutation(n)
        after = summarized(Predictions.of(labels[order], probs=made[order]))["metrics"]
        for name, found in before.items():
            for end in ("low", "value", "high"):
                # Ends are searched to a millionth of their range.
                assert after[name][end] == pytest.approx(found[end], abs=1e-5), (name, end)


@given(predictions(), RULES, st.lists(st.integers(0, 40), max_size=4))
@SOME
def test_parts_add_to_the_whole(made: Pair, rule: tuple, cuts: list[int]) -> None:
    probs, labels = made
    partition = Partition.equal(*rule)
    parts = np.split(np.arange(len(labels)), sorted(cuts))
    top: Reliability = Reliability.empty(partition)
    whole = Reliability.of(probs, labels, bins=partition)
    for part in reversed(parts):
        top += Reliability.of(probs[part], labels[part], bins=partition)
    for name in ("counts", "right"):
        assert np.array_equal(getattr(top, name), getattr(whole, name)), name
        assert getattr(top, name).dtype == np.int64
    for name in ("confidence", "confidence_squared", "confidence_of_right"):
        assert np.allclose(getattr(top, name), getattr(whole, name), rtol=1e-12, atol=1e-12), name
    by_class = ClasswiseReliability.of(probs, labels, bins=partition)
    added = ClasswiseReliability.of(probs[:0], labels[:0], bins=partition)
    people = HumanReliability.of(probs, probs[::-1], bins=partition)
    both = HumanReliability.of(probs[:0], probs[:0], bins=partition)
    for part in parts:
        added += ClasswiseReliability.of(probs[part], labels[part], bins=partition)
        both += HumanReliability.of(probs[part], probs[::-1][part], bins=partition)
    assert np.array_equal(added.counts, by_class.counts)
    assert np.array_equal(added.positives, by_class.positives)
    assert np.allclose(added.confidence, by_class.confidence, rtol=1e-12, atol=1e-12)
    assert added.n == by_class.n == len(labels)
    assert np.array_equal(both.counts, people.counts)
    assert np.allclose(both.share, people.share, rtol=1e-12, atol=1e-12)


@given(st.lists(st.tuples(st.integers(0, 64), st.integers(0, 1)), min_size=1, max_size=40))
@SOME
def test_two_classes(made: list[tuple[int, int]]) -> None:
    # Multiples of 1/64 are exact, and none but 0 and 1 is an edge of 15 bins.
    one, labels = np.array([m[0] / 64 for m in made]), np.array([m[1] for m in made])
    probs = np.column_stack([1 - one, one])
    positive = Reliability.of_confidence(one, labels == 1)
    classwise = ClasswiseReliability.of(probs, labels)
    # Of two classes, what is claimed of one is denied to the other.
    assert classwise.errors() == pytest.approx([positive.expected_error()] * 2, **EXACT)
    assert classwise.expected_error() == pytest.approx(positive.expected_error(), **EXACT)
    samples = Samples.of_scores(probs, labels, "probs")
    assert samples.brier == pytest.approx(2 * (one - labels) ** 2, **EXACT)
    own = np.where(labels == 1, one, 1 - one)
    with np.errstate(divide="ignore"):
        assert samples.log_loss == pytest.approx(-np.log(own), **EXACT)
        logits = np.column_stack([np.zeros(len(one)), np.log(one) - np.log1p(-one)])
    inner = (one > 0) & (one < 1)
    if inner.any():
        again = Samples.of_scores(3 + logits[inner], labels[inner], "logits")
        assert again.confidence == pytest.approx(samples.confidence[inner], **EXACT)
        assert again.log_loss == pytest.approx(samples.log_loss[inner], rel=1e-9, abs=1e-12)
    # Relabelling the classes changes nothing but who wins a tie.
    told = one != 0.5
    if told.any():
        top, mirrored = (
            Reliability.of(p[told], y[told])
            for p, y in ((probs, labels), (probs[:, ::-1], 1 - labels))
        )
        assert np.array_equal(top.counts, mirrored.counts)
        assert np.array_equal(top.right, mirrored.right)


@given(predictions(), st.sampled_from([0.5, 0.9, 0.99]))
@settings(max_examples=10, deadline=None)
def test_intervals_hold_the_value_and_grow_with_the_level(made: Pair, level: float) -> None:
    sums = Reliability.of(*made)
    for found, wider in (
        (error_interval(sums, level=level), error_interval(sums, level=0.995)),
        (maximum_interval(sums, level=level), maximum_interval(sums, level=0.995)),
    ):
        ends = (0, wider.low, found.low, found.value, found.high, wider.high, 1)
        assert all(a <= b + 1e-12 for a, b in pairwise(ends)), ends
