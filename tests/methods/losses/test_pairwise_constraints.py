"""Pairwise constraints against numbers worked out by hand, slow loops, and finite differences."""

import math

import pytest
import torch
import torch.nn.functional as F

from mixcal.methods.losses import pairwise_constraints as module
from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.pairwise_constraints import pair_sums, pairwise_constraints
from tests.support.fixtures import FIXTURE_A, LABELS_A, one_hot


def parts(logits: torch.Tensor, targets: torch.Tensor) -> tuple[float, float]:
    """BDC and BEC alone, averaged."""
    plain = cross_entropy(logits, targets)
    first = pairwise_constraints(logits, targets, discrimination_weight=1, exclusion_weight=0)
    second = pairwise_constraints(logits, targets, discrimination_weight=0, exclusion_weight=1)
    return (first - plain).mean().item(), (second - plain).mean().item()


@pytest.mark.parametrize("soft", [False, True])
def test_by_hand(soft: bool) -> None:
    targets = one_hot(LABELS_A, 3) if soft else LABELS_A
    discrimination, exclusion = parts(FIXTURE_A, targets)
    assert discrimination == pytest.approx(0.431006, abs=2e-6)
    assert exclusion == pytest.approx(0.515816, abs=2e-6)
    # The published code's diagonal adds a constant.
    assert exclusion + 0.5 * math.log(2) / (3 - 2) == pytest.approx(0.862389, abs=2e-6)
    loss = pairwise_constraints(FIXTURE_A, targets)
    assert loss.mean().item() == pytest.approx(1.338625, abs=2e-6)


def by_book(z: torch.Tensor, y: int) -> tuple[torch.Tensor, torch.Tensor]:
    others = [k for k in range(len(z)) if k != y]
    first = sum(-F.logsigmoid(z[y] - z[j]) for j in others) / (len(z) - 1)
    second = sum(-F.logsigmoid(z[i] - z[j]) for i in others for j in others if i != j)
    return first, second / (2 * (len(z) - 1) * (len(z) - 2))


@pytest.mark.parametrize("pairs", [1, 50, 1 << 18])
def test_by_the_book_in_chunks_of_any_size(pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK_PAIRS", pairs)
    logits = torch.randn(5, 7, dtype=torch.float64, requires_grad=True)
    targets = torch.randn(5, 7, dtype=torch.float64).softmax(1)
    plain = cross_entropy(logits, targets)
    loss = pairwise_constraints(logits, targets, discrimination_weight=0.3, exclusion_weight=0.7)
    expected = []
    for z, q in zip(logits, targets, strict=True):
        both = [by_book(z, k) for k in range(7)]
        expected.append(sum(q[k] * (0.3 * a + 0.7 * b) for k, (a, b) in enumerate(both)))
    book = torch.stack(expected)
    assert torch.allclose(loss - plain, book)
    ours = torch.autograd.grad((loss - plain).sum(), logits, retain_graph=True)[0]
    theirs = torch.autograd.grad(book.sum(), logits)[0]
    assert torch.allclose(ours, theirs)


def test_sums_over_pairs_agree_with_finite_differences() -> None:
    logits = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(pair_sums, (logits,))


def test_two_classes_leave_nothing_to_exclude() -> None:
    _, exclusion = parts(torch.randn(4, 2), torch.tensor([0, 1, 0, 1]))
    assert exclusion == 0
