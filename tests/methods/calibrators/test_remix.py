"""Remix against its worked pairs; with equal class counts it is mixup."""

import pytest
import torch

from mixcal.core.step import Passes, StepOutput
from mixcal.methods.calibrators.mixup import mixup
from mixcal.methods.calibrators.remix import rebalanced, remix
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network


@pytest.mark.parametrize(
    ("first", "second", "weight", "expected"),
    [
        (5000, 50, 0.3, 0.0),
        (5000, 50, 0.7, 0.7),
        (50, 5000, 0.7, 1.0),
        (50, 5000, 0.3, 0.3),
        (100, 60, 0.3, 0.3),
    ],
)
def test_worked_pairs(first: int, second: int, weight: float, expected: float) -> None:
    sides = torch.tensor([float(first)]), torch.tensor([float(second)])
    found = rebalanced(torch.tensor([weight]), *sides, kappa=3.0, tau=0.5)
    assert found.item() == pytest.approx(expected)


def test_equal_counts_make_it_mixup() -> None:
    step = StepOutput(batch=toy_batch(8, 20), forward=Passes(toy_network()))
    ours = remix(toy_facts()).mixer(step, toy_clock())
    theirs = mixup(toy_facts()).mixer(step, toy_clock())
    assert torch.equal(ours.rows.inputs, theirs.rows.inputs)
    assert torch.equal(ours.rows.targets, theirs.rows.targets)


def test_images_stay_those_of_mixup_while_targets_lean() -> None:
    facts = toy_facts(class_counts=(100, 1, 1, 1))
    step = StepOutput(batch=toy_batch(8, 20), forward=Passes(toy_network()))
    changed = 0
    for moment in range(20):
        ours = remix(facts).mixer(step, toy_clock(moment))
        theirs = mixup(facts).mixer(step, toy_clock(moment))
        assert torch.equal(ours.rows.inputs, theirs.rows.inputs)
        changed += int((ours.rows.targets != theirs.rows.targets).any(1).sum())
        common = ours.rows.targets[:, 0] - theirs.rows.targets[:, 0]
        assert bool((common <= 1e-6).all()), "the common class never gains"
    assert changed > 0
