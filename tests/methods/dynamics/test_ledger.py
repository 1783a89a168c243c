"""The margin ledger against a loop in float64, with duplicates, in every kind of storage."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from mixcal.core.errors import BadInput
from mixcal.core.facts import DataFacts
from mixcal.methods.dynamics.ledger import MarginLedger, mean_over_equal
from mixcal.methods.dynamics.margins import pseudo_margins

SAMPLES, CLASSES = 30, 5
LOGITS = torch.tensor([[2.0, 1, 0], [0.5, 1.5, -1], [3, 1, 2]])


class ByTheBook:
    """One sample after the other, Python floats."""

    def __init__(self, average: str, first_visit: int) -> None:
        self.average, self.first = average, first_visit
        self.values = [[0.0] * CLASSES for _ in range(SAMPLES)]
        self.visits = [0] * SAMPLES

    def update(self, margins: torch.Tensor, index: torch.Tensor) -> None:
        for sample in sorted(set(index.tolist())):
            rows = [
                row for row, i in zip(margins.tolist(), index.tolist(), strict=True) if i == sample
            ]
            mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
            t = self.visits[sample]
            weight = {
                "mean": 1 / (t + 1),
                "decayed": 0.997 / (1 + t + self.first),
                "constant": 0.1 if t else 1.0,
            }[self.average]
            old = self.values[sample]
            self.values[sample] = [
                new * weight + before * (1 - weight) for new, before in zip(mean, old, strict=True)
            ]
            self.visits[sample] += 1


def facts(folder: Path) -> DataFacts:
    return DataFacts(classes=CLASSES, class_counts=(1,) * CLASSES, labeled=5, scratch=folder)


@pytest.mark.parametrize("store", ["device", "host", "mapped"])
@pytest.mark.parametrize("average", ["mean", "decayed", "constant"])
@pytest.mark.parametrize("first_visit", [0, 1])
def test_equals_a_loop(store: str, average: str, first_visit: int, tmp_path: Path) -> None:
    ledger = MarginLedger(
        SAMPLES,
        CLASSES,
        average=average,
        first_visit=first_visit,
        store=store,
        facts=facts(tmp_path),
    )
    book = ByTheBook(average, first_visit)
    for _ in range(40):
        margins = pseudo_margins(torch.randn(16, CLASSES) * 3)
        index = torch.randint(SAMPLES, (16,))
        ledger.update(margins, index)
        book.update(margins, index)
    every = torch.arange(SAMPLES)
    for label in range(CLASSES):
        ours = ledger.read(every, torch.full((SAMPLES,), label))
        assert ours.tolist() == pytest.approx([row[label] for row in book.values], abs=1e-5)
    assert ledger.summary()[2].tolist() == book.visits
    best = [max(range(CLASSES), key=row.__getitem__) for row in book.values]
    assert ledger.summary()[0].tolist() == best


# After each of the three visits, the average margin of each class.
FROM_ZERO = [
    (0.997, -0.997, -1.994),
    (0.001496, -0.001496, -2.246241),
    (0.333332, -0.665665, -1.832074),
]
FROM_ONE = [
    (0.4985, -0.4985, -0.997),
    (0.000499, -0.000499, -1.496497),
    (0.249624, -0.498874, -1.372745),
]


@pytest.mark.parametrize(("first_visit", "expected"), [(0, FROM_ZERO), (1, FROM_ONE)])
def test_equation_5_by_hand(first_visit: int, expected: list) -> None:
    ledger = MarginLedger(1, 3, average="decayed", first_visit=first_visit)
    for logits, values in zip(LOGITS, expected, strict=True):
        ledger.update(pseudo_margins(logits[None]), torch.tensor([0]))
        ours = [ledger.read(torch.tensor([0]), torch.tensor([c])).item() for c in range(3)]
        assert ours == pytest.approx(values, abs=2e-6)


def test_delta_one_is_the_arithmetic_mean() -> None:
    ledger = MarginLedger(1, average="decayed", delta=1.0)
    for value in (1.0, 2.0, 6.0):
        ledger.update(torch.tensor([[value]]), torch.tensor([0]))
    assert ledger.read(torch.tensor([0])).item() == pytest.approx(3)


def test_constant_margins_stay_what_they_are() -> None:
    ledger = MarginLedger(4)
    for _ in range(50):
        ledger.update(torch.full((4, 1), 2.5), torch.arange(4))
    assert ledger.read(torch.arange(4)).tolist() == [2.5] * 4


def test_duplicates_are_one_visit_with_their_mean() -> None:
    ledger = MarginLedger(3)
    ledger.update(torch.tensor([[1.0], [4.0], [2.0]]), torch.tensor([2, 0, 2]))
    assert ledger.read(torch.arange(3)).tolist() == [4, 0, 1.5]
    assert ledger.summary()[2].tolist() == [1, 0, 1]


def test_mean_over_equal_by_hand() -> None:
    values = torch.tensor([[1.0, 10], [2, 20], [3, 30], [5, 50]])
    mean = mean_over_equal(values, torch.tensor([7, 1, 7, 7]))
    assert mean.tolist() == [[3, 30], [2, 20], [3, 30], [3, 30]]


def test_the_median_counts_only_what_was_seen() -> None:
    ledger = MarginLedger(9)
    ledger.update(torch.tensor([[1.0], [5.0], [3.0]]), torch.tensor([8, 2, 4]))
    assert ledger.median().item() == 3


def values_of(ledger: MarginLedger) -> np.ndarray:
    every = torch.arange(SAMPLES)
    columns = [ledger.read(every, torch.full((SAMPLES,), c)) for c in range(CLASSES)]
    return torch.stack(columns, dim=1).numpy()


@pytest.mark.parametrize("precision", ["float32", "half"])
def test_every_kind_of_storage_holds_the_same(precision: str, tmp_path: Path) -> None:
    ledgers = [
        MarginLedger(
            SAMPLES,
            CLASSES,
            average="decayed",
            store=store,
            precision=precision,
            facts=facts(tmp_path),
        )
        for store in ("device", "host", "mapped")
    ]
    for _ in range(30):
        margins, index = pseudo_margins(torch.randn(16, CLASSES)), torch.randint(SAMPLES, (16,))
        for ledger in ledgers:
            ledger.update(margins, index)
    first = values_of(ledgers[0])
    assert all(np.array_equal(first, values_of(ledger)) for ledger in ledgers[1:])


@pytest.mark.parametrize("store", ["device", "host"])
@pytest.mark.parametrize("precision", ["float32", "half"])
def test_the_state_dict_holds_it_all(store: str, precision: str) -> None:
    ledger = MarginLedger(SAMPLES, CLASSES, store=store, precision=precision)
    ledger.update(torch.randn(9, CLASSES), torch.randint(SAMPLES, (9,)))
    again = MarginLedger(SAMPLES, CLASSES, store=store, precision=precision)
    again.load_state_dict(ledger.state_dict())
    assert np.array_equal(values_of(again), values_of(ledger))


def test_a_mapped_ledger_needs_a_folder() -> None:
    with pytest.raises(BadInput, match="scratch"):
        MarginLedger(3, 3, store="mapped")


@pytest.mark.parametrize("store", ["device", "host", "mapped"])
def test_an_empty_batch_is_no_visit(store: str, tmp_path: Path) -> None:
    ledger = MarginLedger(SAMPLES, CLASSES, store=store, facts=facts(tmp_path))
    ledger.update(torch.zeros(0, CLASSES), torch.zeros(0, dtype=torch.int64))
    assert int(ledger.summary()[2].sum()) == 0


@pytest.mark.parametrize("store", ["device", "host", "mapped"])
@pytest.mark.parametrize("index", [-1, SAMPLES])
def test_a_sample_that_is_none_is_refused(store: str, index: int, tmp_path: Path) -> None:
    ledger = MarginLedger(SAMPLES, CLASSES, store=store, facts=facts(tmp_path))
    with pytest.raises(IndexError, match="out of range"):
        ledger.update(torch.ones(2, CLASSES), torch.tensor([0, index]))
    assert int(ledger.summary()[2].sum()) == 0


@pytest.mark.parametrize("columns", [1, CLASSES + 1])
def test_margins_must_have_the_columns(columns: int) -> None:
    ledger = MarginLedger(SAMPLES, CLASSES)
    with pytest.raises(BadInput, match=f"do not fit 1 samples of a ledger with {CLASSES} columns"):
        ledger.update(torch.ones(1, columns), torch.tensor([1]))


def test_several_columns_are_read_with_labels() -> None:
    ledger = MarginLedger(SAMPLES, CLASSES)
    with pytest.raises(BadInput, match="say whose"):
        ledger.read(torch.tensor([0]))
    with pytest.raises(BadInput, match="say whose"):
        ledger.median()


# Without the tests' own check of types.
PLAIN = """
import torch
from mixcal.core.errors import BadInput
from mixcal.methods.dynamics.ledger import MarginLedger
def said(work):
    try:
        work()
    except BadInput as error:
        print(error)
for knobs in ({"average": "foo"}, {"store": "disk"}, {"precision": "fp16"}, {"first_visit": 2}):
    said(lambda: MarginLedger(3, 3, **knobs))
said(lambda: MarginLedger(0, 3))
said(lambda: MarginLedger(3, 3).update(torch.ones(1, 3), torch.tensor([1, 2])))
"""


def test_names_and_shapes_are_checked_without_the_tests_too() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PLAIN], capture_output=True, text=True, check=True, env=os.environ
    )
    said = done.stdout.splitlines()
    assert len(said) == 6
    wrong = ("'foo'", "'disk'", "'fp16'", "first_visit is 2", "0 samples", "do not fit 2 samples")
    for sentence, part in zip(said, wrong, strict=True):
        assert part in sentence
