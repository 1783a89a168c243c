"""Agreement with people against slow loops, and on what people said of CIFAR-10's test images."""

import json
import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mixcal.cli import main
from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions
from mixcal.judging.metrics.human import against_people
from mixcal.judging.reading import read_shares


def with_people(probs: np.ndarray, people: np.ndarray) -> Predictions:
    made = Predictions.of(people.argmax(1), probs=probs)
    return replace(made, label_distributions=people)


def test_by_the_book() -> None:
    generator = np.random.default_rng(0)
    probs, people = generator.dirichlet(np.ones(3), 50), generator.dirichlet(np.ones(3), 50)
    found = against_people(with_people(probs, people))
    cross = apart = divergence = 0.0
    sums: dict[int, list[float]] = {}
    for p, q in zip(probs, people, strict=True):
        for k in range(3):
            cross -= q[k] * math.log(p[k]) / 50
            divergence += q[k] * math.log(q[k] / p[k]) / 50
            apart += abs(p[k] - q[k]) / 2 / 50
            held = sums.setdefault(math.ceil(p[k] * 15) - 1, [0.0, 0.0])
            held[0] += p[k]
            held[1] += q[k]
    assert found.cross_entropy.value == pytest.approx(cross)
    assert found.divergence.value == pytest.approx(divergence)
    assert found.total_variation.value == pytest.approx(apart)
    error = sum(abs(p - q) for p, q in sums.values()) / 150
    assert found.calibration_error.value == pytest.approx(error)
    for estimate in (found.cross_entropy, found.total_variation, found.calibration_error):
        assert estimate.low < estimate.value < estimate.high


def test_by_hand_with_classes_nobody_chose() -> None:
    people = np.array([[1.0, 0.0], [0.5, 0.5]])
    same = against_people(with_people(people, people))
    assert same.divergence.value == same.total_variation.value == 0
    assert same.cross_entropy.value == pytest.approx(math.log(2) / 2)
    other = against_people(with_people(np.array([[0.8, 0.2], [0.5, 0.5]]), people))
    assert other.divergence.value == pytest.approx(-math.log(0.8) / 2)
    assert other.total_variation.value == pytest.approx(0.1)
    impossible = against_people(with_people(np.array([[0.0, 1.0], [0.5, 0.5]]), people))
    assert impossible.cross_entropy.value == math.inf


def test_shares_that_are_none_are_refused() -> None:
    made = Predictions.of(np.array([0]), probs=np.array([[0.5, 0.5]]))
    with pytest.raises(BadInput, match="there are no label_distributions"):
        against_people(made)
    with pytest.raises(BadInput, match=r"row 0 of label_distributions sums to 1\.2"):
        against_people(replace(made, label_distributions=np.array([[0.7, 0.5]])))


@pytest.mark.real_data
def test_what_people_said_of_ten_thousand_images(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = Path(os.environ["MIXCAL_DATA"]) / "cifar10" / "cifar10h_counts.npz"
    people = read_shares(counts)
    assert people.shape == (10_000, 10)
    # A model that says what people say, or nearly.
    softened = (people + 0.001) / 1.01
    np.savez(tmp_path / "soft.npz", probs=softened, labels=people.argmax(1))
    # The same labels, told with certainty.
    hard = 0.999 * np.eye(10)[people.argmax(1)] + 0.0001
    np.savez(tmp_path / "hard.npz", probs=hard, labels=people.argmax(1))
    found = {}
    for name in ("soft", "hard"):
        words = ["judge", str(tmp_path / f"{name}.npz"), "--humans", str(counts), "--json"]
        assert main(words) == 0
        found[name] = json.loads(capsys.readouterr().out)
    soft, hard_found = found["soft"]["further"]["humans"], found["hard"]["further"]["humans"]
    assert soft["n"] == 10_000
    expected = -(people * np.log(softened)).sum(1).mean()
    assert soft["cross_entropy"]["value"] == pytest.approx(expected, rel=1e-12)
    assert soft["total_variation"]["value"] == pytest.approx(
        np.abs(people - softened).sum(1).mean() / 2, rel=1e-12
    )
    # By single labels the certain model looks the better one; against people it is the worse.
    assert found["hard"]["metrics"]["nll"]["value"] < found["soft"]["metrics"]["nll"]["value"]
    assert hard_found["divergence"]["low"] > soft["divergence"]["high"]
    assert hard_found["calibration_error"]["low"] > soft["calibration_error"]["high"]
    assert sum(soft["curve"]["counts"]) == 100_000
