"""Focal loss in a recipe: worked numbers, γ by epoch, and schedules that make no sense."""

import pytest
import torch

from mixcal.core.clock import Clock
from mixcal.core.errors import BadInput
from mixcal.core.protocols import combine
from mixcal.methods.calibrators.focal import focal
from mixcal.methods.losses.focal import focal as focal_loss
from mixcal.methods.objectives.supervised import Supervised
from tests.support.fixtures import FIXTURE_A, LABELS_A, one_hot
from tests.support.toy import toy_batch, toy_facts, toy_network


@pytest.mark.parametrize(
    ("variant", "expected"), [("constant", 0.383797), ("sample_dependent", 0.302602)]
)
def test_by_hand(variant: str, expected: float) -> None:
    criterion = focal(toy_facts(), variant=variant).criteria["labeled"]
    found = criterion(FIXTURE_A, one_hot(LABELS_A, 3)).mean()
    assert found.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("epoch", "gamma"), [(0, 5), (99, 5), (100, 3), (249, 3), (250, 1), (349, 1)]
)
def test_the_schedule_in_a_step(epoch: int, gamma: float) -> None:
    batch, clock = toy_batch(8), Clock.at(epoch * 7, seed=0, steps=2450, epoch_steps=7)
    objective = Supervised(combine([focal(toy_facts(), variant="scheduled")]))
    found = objective(toy_network(), batch, clock).losses["labeled"]
    logits = toy_network()(batch.labeled.inputs).logits
    expected = focal_loss(logits, batch.labeled.targets, gamma=gamma).mean()
    assert found.item() == pytest.approx(expected.item(), abs=1e-6)


def test_knobs_of_the_sample_dependent_one() -> None:
    logits = torch.tensor([[0.0, 3.0]])
    criterion = focal(toy_facts(), variant="sample_dependent", gamma_low=2.0).criteria["labeled"]
    expected = focal_loss(logits, torch.tensor([0]), gamma=2.0)
    assert torch.allclose(criterion(logits, one_hot(torch.tensor([0]), 2)), expected)


@pytest.mark.parametrize(
    "epochs", [(0, 10), (5, 10, 20), (0, 20, 10), (0, 10, 10), ()], ids=lambda e: str(e)
)
def test_a_schedule_that_does_not_rise_from_zero_gets_a_sentence(epochs) -> None:
    with pytest.raises(BadInput, match=r"one rising epoch a gamma"):
        focal(toy_facts(), variant="scheduled", epochs=epochs)
