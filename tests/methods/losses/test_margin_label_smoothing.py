"""Margin-based label smoothing against numbers worked out by hand and its limits."""

import pytest
import torch

from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.margin_label_smoothing import logit_distances, margin_label_smoothing
from tests.support.fixtures import FIXTURE_A, LABELS_A


def test_by_hand() -> None:
    loss = margin_label_smoothing(FIXTURE_A, LABELS_A, margin=1, alpha=0.1)
    assert loss.mean().item() == pytest.approx(0.850543, abs=1e-6)
    excess = (logit_distances(FIXTURE_A) - 1).clamp(min=0)
    assert excess.mean().item() == pytest.approx(0.708333, abs=1e-6)
    # The sum over the classes would be three times the penalty.
    assert (loss + 0.2 * excess.mean(1)).mean().item() == pytest.approx(0.992209, abs=1e-6)


def test_a_margin_beyond_every_gap_is_cross_entropy() -> None:
    plain = cross_entropy(FIXTURE_A, LABELS_A)
    assert torch.equal(margin_label_smoothing(FIXTURE_A, LABELS_A, margin=3.0), plain)


def test_the_gradient_reaches_the_largest_logit() -> None:
    logits = torch.tensor([[5.0, 0, 0, 0]], requires_grad=True)
    flat = cross_entropy(logits, torch.tensor([0]))
    (margin_label_smoothing(logits, torch.tensor([0]), margin=2, alpha=1.0) - flat).backward()
    assert logits.grad.tolist() == [[0.75, -0.25, -0.25, -0.25]]


def test_gradient_agrees_with_finite_differences_beyond_the_margin() -> None:
    logits = torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(5, (6,))

    def loss(z: torch.Tensor) -> torch.Tensor:
        return margin_label_smoothing(z, labels, margin=0.5, alpha=0.7)

    assert torch.autograd.gradcheck(loss, (logits,), eps=1e-8, atol=1e-5)
