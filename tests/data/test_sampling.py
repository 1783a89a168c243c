"""Index streams by their promises: every sample equally often, the same whenever asked."""

import numpy as np
import pytest

from mixcal.data.sampling import IndexStream


@pytest.mark.parametrize(("size", "batch"), [(40, 64), (100, 7), (64, 64), (3, 10)])
def test_passes_drop_nothing(size: int, batch: int) -> None:
    stream = IndexStream(size, batch, seed=3, name="labeled")
    seen = np.concatenate([stream.at(step) for step in range(size)])
    assert np.bincount(seen, minlength=size).tolist() == [batch] * size
    assert sorted(seen[:size].tolist()) == list(range(size))


def test_any_step_can_be_asked_for_first() -> None:
    forward = IndexStream(50, 16, seed=1, name="weak")
    steps = [forward.at(step) for step in range(40)]
    for step in (39, 2, 17, 18, 0):
        assert np.array_equal(IndexStream(50, 16, seed=1, name="weak").at(step), steps[step])
    assert np.array_equal(forward.at(5), steps[5])


def test_order_depends_on_seed_and_name() -> None:
    one = IndexStream(1000, 100, seed=0, name="labeled").at(0)
    assert not np.array_equal(one, IndexStream(1000, 100, seed=1, name="labeled").at(0))
    assert not np.array_equal(one, IndexStream(1000, 100, seed=0, name="weak").at(0))


def test_epochs_start_anew_and_drop_the_rest() -> None:
    stream = IndexStream(10, 4, seed=0, name="labeled", order="epochs")
    for epoch in range(3):
        seen = np.concatenate([stream.at(2 * epoch), stream.at(2 * epoch + 1)])
        assert len(set(seen.tolist())) == 8


def test_balanced_draws_classes_alike() -> None:
    labels = np.repeat([0, 1, 2], [900, 90, 10])
    stream = IndexStream(1000, 300, seed=0, name="labeled", order="balanced", labels=labels)
    seen = labels[np.concatenate([stream.at(step) for step in range(50)])]
    assert np.bincount(seen).min() > 4_700
