"""The inverse focal loss against numbers worked out by hand and cross-entropy."""

import pytest
import torch

from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.inverse_focal import inverse_focal
from tests.support.fixtures import FIXTURE_A, LABELS_A


@pytest.mark.parametrize(("gamma", "expected"), [(1, 1.009334), (2, 1.365541)])
def test_by_hand(gamma: float, expected: float) -> None:
    loss = inverse_focal(FIXTURE_A, LABELS_A, gamma=gamma).mean()
    assert loss.item() == pytest.approx(expected, abs=1e-6)


def test_no_focus_is_cross_entropy() -> None:
    losses = inverse_focal(FIXTURE_A, LABELS_A, gamma=0)
    assert torch.equal(losses, cross_entropy(FIXTURE_A, LABELS_A))


def test_distributions_weigh_each_class() -> None:
    logits, targets = torch.randn(6, 4), torch.randn(6, 4).softmax(1)
    every = torch.stack([inverse_focal(logits, torch.full((6,), k)) for k in range(4)], 1)
    assert torch.allclose(inverse_focal(logits, targets), (targets * every).sum(1), atol=1e-5)
