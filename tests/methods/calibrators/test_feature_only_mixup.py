"""Feature-only mixup by hand: inputs as mixup mixes them, the label of the nearer member."""

import pytest
import torch
import torch.nn.functional as F

from mixcal.core.step import Passes, StepOutput
from mixcal.methods.calibrators.feature_only_mixup import feature_only_mixup
from mixcal.methods.calibrators.mixup import mixup
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network


def test_the_nearer_label_at_many_steps() -> None:
    step = StepOutput(batch=toy_batch(8, 20), forward=Passes(toy_network()))
    mixer, sides = feature_only_mixup(toy_facts(), alpha=1.0).mixer, set()
    for moment in range(20):
        mixed = mixer(step, toy_clock(moment))
        nearer = mixed.first if mixed.image_weight[0] >= 0.5 else mixed.second
        assert torch.equal(mixed.rows.targets, nearer.targets)
        sides.add(nearer.part)
    assert sides == {"labeled", "second"}


def test_inputs_are_those_of_mixup() -> None:
    step = StepOutput(batch=toy_batch(8, 20), forward=Passes(toy_network()))
    ours = feature_only_mixup(toy_facts(), alpha=0.4).mixer(step, toy_clock())
    theirs = mixup(toy_facts(), alpha=0.4).mixer(step, toy_clock())
    assert torch.equal(ours.rows.inputs, theirs.rows.inputs)


def test_the_loss_by_hand() -> None:
    loss = F.cross_entropy(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0]))
    assert loss.item() == pytest.approx(0.407606, abs=1e-6)
