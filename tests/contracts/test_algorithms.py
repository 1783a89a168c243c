"""One contract for every semi-supervised algorithm of the catalog."""

import copy

import pytest
import torch

from mixcal.catalog import ENTRIES, make
from mixcal.core.protocols import Algorithm
from tests.support.no_sync import no_synchronisation
from tests.support.toy import CLASSES, toy_facts


@pytest.fixture(params=[entry.name for entry in ENTRIES if entry.kind == "algorithm"])
def algorithm(request: pytest.FixtureRequest) -> Algorithm:
    return make("algorithm", request.param, {}, toy_facts())


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(30, CLASSES) * 4, torch.randint(40, (30,))


def test_weights_lie_between_zero_and_one(algorithm: Algorithm) -> None:
    for _ in range(20):
        weights = algorithm.weigh(*batch())
        assert bool(((weights >= 0) & (weights <= 1)).all())


def test_pseudo_labels_are_distributions(algorithm: Algorithm) -> None:
    targets = algorithm.pseudo_label(batch()[0])
    assert targets.sum(1).tolist() == pytest.approx([1.0] * 30)
    assert bool((targets >= 0).all())


def test_logits_and_index_are_untouched(algorithm: Algorithm) -> None:
    logits, index = batch()
    kept = logits.clone(), index.clone()
    algorithm.weigh(logits, index)
    algorithm.pseudo_label(logits)
    assert torch.equal(logits, kept[0])
    assert torch.equal(index, kept[1])


def test_the_more_confident_of_two_never_weighs_less(algorithm: Algorithm) -> None:
    sure = torch.zeros(1, CLASSES)
    sure[0, 0] = 6.0
    pair = torch.cat([sure, sure / 4])
    weights = algorithm.weigh(pair, torch.tensor([0, 1]))
    assert weights[0] >= weights[1]


def test_memory_round_trips(algorithm: Algorithm) -> None:
    for _ in range(5):
        algorithm.weigh(*batch())
    again = copy.deepcopy(algorithm)
    again.weigh.load_state_dict(algorithm.weigh.state_dict())
    logits, index = batch()
    assert torch.equal(algorithm.weigh(logits, index), again.weigh(logits, index))


def test_asks_the_device_for_nothing(algorithm: Algorithm) -> None:
    logits, index = batch()
    with no_synchronisation():
        algorithm.weigh(logits, index)
        algorithm.pseudo_label(logits)
