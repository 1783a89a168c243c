"""Cross-entropy against torch's own and against numbers worked out by hand."""

import pytest
import torch
import torch.nn.functional as F

from mixcal.methods.losses.cross_entropy import cross_entropy
from tests.support.fixtures import FIXTURE_A, LABELS_A, one_hot


def test_by_hand() -> None:
    losses = cross_entropy(FIXTURE_A, one_hot(LABELS_A, 3))
    assert losses.tolist() == pytest.approx([0.407606, 0.371539, 2.169846, 0.169846], abs=2e-6)


def test_equals_torch_for_soft_targets() -> None:
    logits, targets = torch.randn(50, 7), torch.randn(50, 7).softmax(1)
    theirs = F.cross_entropy(logits, targets, reduction="none")
    assert torch.allclose(cross_entropy(logits, targets), theirs, atol=1e-6)


def test_no_target_costs_nothing() -> None:
    assert cross_entropy(torch.randn(2, 3), torch.zeros(2, 3)).tolist() == [0, 0]
