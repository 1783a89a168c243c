"""What importing costs, what a stream keeps and how far it counts, against what was promised."""

import subprocess
import sys

import numpy as np
import pytest

from mixcal.judging.metrics.classwise import ClasswiseReliability
from mixcal.judging.metrics.reliability import Reliability
from tests.support.command import SAME_PACKAGE

ARRAYS = ("counts", "right", "confidence", "confidence_squared", "confidence_of_right")


def test_importing_the_metrics_pulls_in_nothing_heavy() -> None:
    script = (
        "import sys, mixcal.judging.summary, mixcal.judging.metrics.paired, "
        "mixcal.judging.metrics.human, mixcal.judging.metrics.out_of_distribution; "
        "print([m for m in ('torch', 'matplotlib', 'sklearn', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=SAME_PACKAGE,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_a_stream_keeps_the_same_however_long_it_is() -> None:
    generator = np.random.default_rng(0)
    probs = generator.dirichlet(np.ones(10), 1000)
    labels = generator.integers(10, size=1000)
    batch = Reliability.of(probs, labels)
    total: Reliability = Reliability.empty()
    for _ in range(300):
        total += batch
    assert total.n == 300_000
    for sums in (batch, total):
        assert sum(getattr(sums, name).nbytes for name in ARRAYS) == 5 * 15 * 8 <= 100_000
    kept = ClasswiseReliability.of(probs, labels)
    assert kept.counts.size + kept.positives.size + kept.confidence.size == 10 * 15 * 3


def test_forty_million_samples_are_counted_exactly() -> None:
    # Half of 0.625 right: an ECE of 0.125, of which float32 sums leave 0.028 at sixteen million.
    confidence = np.full(500_000, 0.625, dtype=np.float32)
    right = np.arange(500_000) % 2 == 0
    batch, total = Reliability.of_confidence(confidence, right), Reliability.empty()
    for _ in range(80):
        total += batch
    assert (total.n, total.right.sum()) == (40_000_000, 20_000_000)
    assert total.expected_error() == pytest.approx(0.125, rel=1e-12)
