"""The Brier score as a loss against numbers worked out by hand, gradient included."""

import pytest
import torch

from mixcal.methods.losses.brier import brier
from tests.support.fixtures import FIXTURE_A, LABELS_A


def test_by_hand() -> None:
    assert brier(FIXTURE_A, LABELS_A).mean().item() == pytest.approx(0.470388, abs=1e-6)
    means = brier(FIXTURE_A, LABELS_A, reduction="mean_K")
    assert means.mean().item() == pytest.approx(0.156796, abs=1e-6)


def test_soft_targets_and_their_gradient_by_hand() -> None:
    logits = torch.tensor([[1.0, 0.2, -0.5]], requires_grad=True)
    loss = brier(logits, torch.tensor([[0.75, 0.25, 0.0]]))
    loss.sum().backward()
    assert loss.item() == pytest.approx(0.041275, abs=1e-6)
    assert logits.grad[0].tolist() == pytest.approx([-0.100404, 0.046630, 0.053774], abs=1e-6)


def test_a_sure_answer_costs_nothing_or_two() -> None:
    logits = torch.tensor([[90.0, 0, 0], [90.0, 0, 0]])
    assert brier(logits, torch.tensor([0, 1])).tolist() == [0, 2]
