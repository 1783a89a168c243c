"""Annotations of a store against a loop over its images, whole, in shards and gone on with."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from mixcal.data.mixed_store import MixedStore
from mixcal.data.pool import MemoryPool
from mixcal.data.store_copies import linked_copy
from mixcal.synthesis.annotation import Prototypes, Rule
from mixcal.synthesis.encoders import Encoder
from mixcal.synthesis.scoring import SetScorer, Unfinished, few_of_each, prototypes_of
from tests.support.mixed import noise_store

RECORD = {
    "encoder": "linear",
    "splits": "s0",
    "rule": "projected",
    "scale": 3.0,
    "normalize": False,
}
RULE = Rule(scale=3.0, shares=True)


def encoder() -> Encoder:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = nn.Linear(36, 5)
    return Encoder(
        name="linear",
        network=network.requires_grad_(False),
        prepare=lambda raw: raw.flatten(1).float() / 255,
        features=lambda answer: answer,
        device=torch.device("cpu"),
    )


def pool() -> MemoryPool:
    images = np.random.default_rng(5).integers(0, 256, (30, 6, 6), dtype=np.uint8)
    return MemoryPool.of_images(images, np.arange(30) % 4)


def prototypes() -> Prototypes:
    return prototypes_of(
        encoder(),
        pool(),
        np.arange(4, 30),
        classes=4,
        normalize=False,
        show=lambda done, whole: None,
    )


def annotated(store: MixedStore, shards: int = 1, only: tuple[int, ...] = (0,)) -> bool:
    """The shards named of so many; whether the store is annotated."""
    unfinished = Unfinished(store)
    whole = False
    for number in only:
        with unfinished.alone():
            known = unfinished.begun(RECORD)
            if known is None:
                known = prototypes()
                unfinished.begin(RECORD, known, shares=True)
        scorer = SetScorer(encoder(), known, RULE, store)
        for block in scorer.blocks.missing(unfinished.map("done", "r"), (number, shards)):
            unfinished.write(scorer({"block": [block]}))
        whole = unfinished.end(RECORD)
    return whole


def test_by_the_book(tmp_path: Path) -> None:
    store = noise_store(tmp_path / "store", sets=70, annotated=False)
    assert annotated(store)
    found = MixedStore.open(store.path).annotation()
    assert found is not None
    assert found.record["prototypes"] == prototypes().fingerprint
    weight, bias = (value.numpy().astype(float) for value in encoder().network.parameters())

    def encode(image: np.ndarray) -> np.ndarray:
        return weight @ (image.reshape(-1).astype(float) / 255) + bias

    images, labels = pool().raw.numpy(), pool().labels
    means = [
        np.mean([encode(images[n, 0]) for n in range(4, 30) if labels[n] == k], axis=0)
        for k in range(4)
    ]
    for row in (0, 31, 32, 69):
        first, second = (means[k] for k in store.pairs[row])
        for member in (0, 5):
            along = encode(store.images[row, member, :, :, 0]) - second
            share = along @ (first - second) / ((first - second) @ (first - second))
            assert found.projections[row, member] == pytest.approx(share, abs=1e-3)
            weight_there = 1 / (1 + np.exp(-3 * (found.projections[row, member] - 0.5)))
            assert found.weights[row, member] == pytest.approx(weight_there, abs=1e-6)
    assert found.targets is not None
    assert found.targets.sum(-1) == pytest.approx(np.ones((70, 8)), abs=1e-5)
    assert not Unfinished(store).path.exists()


def test_shards_make_the_same_annotation(tmp_path: Path) -> None:
    whole = noise_store(tmp_path / "whole", sets=70, annotated=False)
    parts = noise_store(tmp_path / "parts", sets=70, annotated=False)
    assert annotated(whole)
    assert not annotated(parts, 3, (1, 0))
    assert MixedStore.open(parts.path).annotation() is None
    # What was begun is gone on with: its prototypes are not made again.
    assert Unfinished(parts).begun(RECORD) is not None
    assert Unfinished(parts).begun({**RECORD, "scale": 2.0}) is None
    assert annotated(parts, 3, (2,))
    for name in ("header.json", "projections.npy", "weights.npy", "targets.npy"):
        assert (parts.path / name).read_bytes() == (whole.path / name).read_bytes(), name


def test_a_copy_shares_images_and_not_annotations(tmp_path: Path) -> None:
    store = noise_store(tmp_path / "store", sets=3)
    other = linked_copy(store, tmp_path / "other")
    assert other.annotation() is None
    assert np.array_equal(other.images, store.images)
    assert (other.path / "images.npy").samefile(store.path / "images.npy")
    assert annotated(other)
    ours, theirs = (MixedStore.open(path).annotation() for path in (store.path, other.path))
    assert ours is not None
    assert theirs is not None
    assert not np.array_equal(ours.weights, theirs.weights)


def test_a_few_of_each_class() -> None:
    labels = np.array([0, 1, 0, 1, 0, 2])
    members = np.array([5, 4, 3, 2, 1])
    assert few_of_each(labels, members, 1).tolist() == [5, 4, 3]
    assert few_of_each(labels, members, 0) is members
