"""Splits by their promises: sizes, disjointness, independence of everything but the seed."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.options import DataOptions
from mixcal.data.pool import MemoryPool
from mixcal.data.source import Source
from mixcal.data.splits import Splits, split


def source(counts: list[int], *, unlabeled: int = 0, own: bool = False) -> Source:
    labels = np.concatenate([np.repeat(range(len(counts)), counts), np.full(unlabeled, -1)])
    pool = MemoryPool.of_images(np.zeros((len(labels), 4, 4), np.uint8), labels)
    test = MemoryPool.of_images(np.zeros((7, 4, 4), np.uint8), np.arange(7) % len(counts))
    names = tuple(f"class {k}" for k in range(len(counts)))
    return Source(name="toy", classes=names, train=pool, test=test, own=own)


def options(**changes) -> DataOptions:
    return replace(DataOptions(labels_per_class=4), **changes)


def test_labels_per_class() -> None:
    found = split(source([50, 60, 70]), options(), seed=0)
    labels = source([50, 60, 70]).train.labels
    assert np.bincount(labels[found.labeled]).tolist() == [4, 4, 4]
    assert len(found.unlabeled) == 180
    assert np.isin(found.labeled, found.unlabeled).all()
    assert found.label_budget == 12
    assert len(found.test) == 7


def test_labeled_images_can_be_left_out_of_the_unlabeled_pool() -> None:
    found = split(source([50, 60]), options(labeled_in_unlabeled=False), seed=0)
    assert len(found.unlabeled) == 102
    assert not np.isin(found.labeled, found.unlabeled).any()


def test_a_class_does_not_change_another_class() -> None:
    one = split(source([50, 60, 70]), options(), seed=3)
    other = split(source([50, 60, 90]), options(), seed=3)
    assert np.array_equal(one.labeled[:8], other.labeled[:8])


def test_global_generators_and_repetition_change_nothing() -> None:
    np.random.seed(1)
    one = split(source([50, 60]), options(), seed=0)
    np.random.seed(2)
    np.random.rand(10)
    assert split(source([50, 60]), options(), seed=0).fingerprint == one.fingerprint
    assert split(source([50, 60]), options(), seed=1).fingerprint != one.fingerprint
    held = split(source([50, 60]), options(split_seed=0), seed=1)
    assert held.fingerprint == one.fingerprint


def test_a_fraction_of_every_class_is_rounded_down() -> None:
    data = options(labels_per_class=None, label_fraction=0.1)
    found = split(source([59, 101]), data, seed=0)
    labels = source([59, 101]).train.labels
    assert np.bincount(labels[found.labeled]).tolist() == [5, 10]


def test_unlabeled_by_nature_joins_the_pool() -> None:
    found = split(source([10, 10], unlabeled=30), options(), seed=0)
    assert len(found.unlabeled) == 50
    assert found.labeled.max() < 20


def test_own_data_pay_for_validation_with_their_labels() -> None:
    data = options(labels_per_class=None)
    found = split(source([30, 4], own=True), data, seed=0)
    assert found.validation_from == "labels"
    assert (len(found.labeled), len(found.validation)) == (27, 7)
    assert found.label_budget == 34
    assert not np.isin(found.validation, found.labeled).any()
    assert not np.isin(found.validation, found.unlabeled).any()
    labels = source([30, 4]).train.labels
    assert np.bincount(labels[found.validation]).tolist() == [6, 1]


def test_validation_from_the_pool_costs_extra_labels() -> None:
    data = options(validation="pool", validation_fraction=0.1)
    found = split(source([50, 60]), data, seed=0)
    assert (len(found.labeled), len(found.validation)) == (8, 11)
    assert found.label_budget == 19
    assert not np.isin(found.validation, found.unlabeled).any()


def test_published_validation_is_not_stratified() -> None:
    data = DataOptions(validation="pool", validation_fraction=0.1, validation_stratified=False)
    found = split(source([500, 500]), data, seed=0)
    assert len(found.validation) == 100
    assert len(found.labeled) == 900


def test_long_tails_shrink_the_pool() -> None:
    data = DataOptions(imbalance=10.0)
    found = split(source([100, 100, 100]), data, seed=0)
    labels = source([100, 100, 100]).train.labels
    assert np.bincount(labels[found.labeled]).tolist() == [100, 31, 10]
    assert len(found.unlabeled) == 141


def test_a_limit_is_spread_over_the_classes() -> None:
    found = split(source([100, 300]), DataOptions(train_limit=40), seed=0)
    labels = source([100, 300]).train.labels
    assert np.bincount(labels[found.labeled]).tolist() == [10, 30]


def test_round_trip_and_tampering(tmp_path: Path) -> None:
    found = split(source([50, 60], own=True), options(labels_per_class=None), seed=0)
    path = tmp_path / "splits.json"
    path.write_text(json.dumps(found.record()))
    again = Splits.load(path)
    assert again.fingerprint == found.fingerprint
    assert np.array_equal(again.validation, found.validation)
    path.write_text(path.read_text().replace('"labels"', '"none"'))
    with pytest.raises(BadInput, match="hash"):
        Splits.load(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"labeled": [[1]]}', '{"labeled": [3]}'])
def test_a_damaged_file_is_a_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "splits.json"
    path.write_text(text)
    with pytest.raises(BadInput, match=r"(?s)splits.json cannot be read .* restore the file"):
        Splits.load(path)
    with pytest.raises(BadInput, match=r"gone.json cannot be read"):
        Splits.load(tmp_path / "gone.json")


@pytest.mark.parametrize(
    ("counts", "changes", "message"),
    [
        ([3, 60], {}, "'class 0' has 3 labeled images, 4 were asked for"),
        ([50, 60], {"label_fraction": 0.5}, "not both"),
        ([50, 60], {"validation": "source"}, "no validation split"),
        ([50, 60], {"validation": "labels", "validation_fraction": 1.5}, "validation_fraction"),
        ([9, 1], {"labels_per_class": 1, "validation": "labels"}, "validation needs one"),
    ],
)
def test_impossible_wishes(counts: list[int], changes: dict, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        split(source(counts), options(**changes), seed=0)
