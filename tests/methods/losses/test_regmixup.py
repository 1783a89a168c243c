"""RegMixup's loss against numbers worked out by hand and its invariants."""

import pytest
import torch

from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.regmixup import regmixup

CLEAN, MIXED = torch.tensor([[3.0, 0, 0]]), torch.tensor([[2.0, 1, 0]])
LABEL, TARGET = torch.tensor([0]), torch.tensor([[0.7, 0, 0.3]])


@pytest.mark.parametrize(("scale", "expected"), [(1.0, 1.102529), (0.5, 0.551264)])
def test_by_hand(scale: float, expected: float) -> None:
    loss = regmixup(CLEAN, LABEL, mixed_logits=MIXED, mixed_targets=TARGET, scale=scale)
    assert loss.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("eta", [0.0, 1.0, 2.5])
def test_mixes_of_one_row_alone_are_cross_entropy_again(eta: float) -> None:
    logits, labels = torch.randn(7, 4), torch.randint(4, (7,))
    loss = regmixup(logits, labels, mixed_logits=logits, mixed_targets=labels, eta=eta)
    assert torch.allclose(loss, (1 + eta) * cross_entropy(logits, labels))
