"""UniMix against its worked coefficients and partner chances."""

import pytest
import torch

from mixcal.core.step import Passes, StepOutput
from mixcal.methods.calibrators.unimix import partner_chances, shifted, unimix
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network


@pytest.mark.parametrize(
    ("drawn", "first", "second", "expected"),
    [
        (0.3, 5000, 50, 0.309901),
        (0.3, 50, 5000, 0.290099),
        (0.8, 50, 5000, 0.790099),
        (0.5, 100, 100, 1.0),
    ],
)
def test_worked_coefficients(drawn: float, first: int, second: int, expected: float) -> None:
    counts = torch.tensor([float(first)]), torch.tensor([float(second)])
    found = shifted(torch.tensor([drawn]), *counts)
    assert found.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("tau", "expected"),
    [
        (0.0, [0.25] * 4),
        (-0.1, [0.206449, 0.206449, 0.259904, 0.327199]),
        (-0.5, [0.065953, 0.065953, 0.208562, 0.659532]),
    ],
)
def test_worked_chances(tau: float, expected: list[float]) -> None:
    found = partner_chances(torch.tensor([5000.0, 5000, 500, 50]), tau)
    assert found.tolist() == pytest.approx(expected, abs=1e-6)


def test_partners_follow_their_chances() -> None:
    facts = toy_facts(class_counts=(400, 100, 25, 4))
    step = StepOutput(batch=toy_batch(8, 20), forward=Passes(toy_network()))
    labels = step.batch.labeled.targets.argmax(1)
    chances = partner_chances(torch.tensor(facts.class_counts).float()[labels], -0.5)
    mixer, drawn = unimix(facts).mixer, torch.zeros(4)
    for moment in range(400):
        drawn += mixer(step, toy_clock(moment)).second.targets.sum(0)
    expected = torch.zeros(4).index_add_(0, labels, chances)
    assert (drawn / drawn.sum()).tolist() == pytest.approx(expected.tolist(), abs=0.04)


def test_every_row_has_its_own_coefficient_for_image_and_target() -> None:
    step = StepOutput(batch=toy_batch(8, 20), forward=Passes(toy_network()))
    mixed = unimix(toy_facts()).mixer(step, toy_clock())
    assert mixed.image_weight.unique().numel() == 8
    assert torch.equal(mixed.image_weight, mixed.target_weight)
