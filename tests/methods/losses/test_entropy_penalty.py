"""The entropy penalty against numbers worked out by hand, and its sign against a flat network."""

import pytest
import torch

from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.entropy_penalty import entropy_penalty
from tests.support.fixtures import FIXTURE_A, LABELS_A


@pytest.mark.parametrize(("reduction", "expected"), [("sum", 0.713516), ("mean_K", 0.757645)])
def test_by_hand(reduction: str, expected: float) -> None:
    losses = entropy_penalty(FIXTURE_A, LABELS_A, beta=0.1, entropy_reduction=reduction)
    assert losses.mean().item() == pytest.approx(expected, abs=1e-6)


def test_a_flat_answer_is_rewarded_by_the_largest_entropy() -> None:
    flat, labels = torch.zeros(1, 5), torch.tensor([2])
    reward = cross_entropy(flat, labels) - entropy_penalty(flat, labels, beta=2.0)
    assert reward.item() == pytest.approx(2 * torch.tensor(5.0).log().item())


def test_the_gradient_flows_through_the_entropy() -> None:
    logits = FIXTURE_A.clone().requires_grad_()
    entropy_penalty(logits, LABELS_A, beta=0.5).sum().backward()
    probs = FIXTURE_A.softmax(1)
    entropy = -(probs * probs.log()).sum(1, keepdim=True)
    by_hand = probs - torch.eye(3)[LABELS_A] + 0.5 * probs * (probs.log() + entropy)
    assert torch.allclose(logits.grad, by_hand, atol=1e-6)
