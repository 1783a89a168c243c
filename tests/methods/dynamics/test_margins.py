"""Margins by hand and against a loop over classes."""

import pytest
import torch

from mixcal.methods.dynamics.margins import label_margins, pseudo_margins


def test_by_hand() -> None:
    logits = torch.tensor([[2.0, 1, 0], [0.5, 1.5, -1], [3, 1, 2]])
    assert label_margins(logits, torch.tensor([0, 0, 0])).tolist() == [1, -1, 1]


def test_all_logits_negative() -> None:
    # A mask of zeros in place of −∞ would answer 1 here.
    assert label_margins(torch.tensor([[1.0, -2, -3]]), torch.tensor([0])).item() == 3
    assert label_margins(torch.tensor([[-1.0, -2, -3]]), torch.tensor([0])).item() == 1


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_equals_a_loop(classes: int) -> None:
    logits = torch.randn(20, classes)
    for row, margins in zip(logits, pseudo_margins(logits), strict=True):
        for c in range(classes):
            others = [float(row[j]) for j in range(classes) if j != c]
            assert margins[c].item() == pytest.approx(float(row[c]) - max(others), abs=1e-6)


def test_ties_for_the_first_place_have_no_margin() -> None:
    margins = pseudo_margins(torch.tensor([[2.0, 2, 1]]))
    assert margins.tolist() == [[0, 0, -1]]
