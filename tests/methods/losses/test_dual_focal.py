"""The dual focal loss against numbers worked out by hand, a slow loop, and cross-entropy."""

import pytest
import torch

from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.dual_focal import dual_focal
from tests.support.fixtures import FIXTURE_A, LABELS_A


@pytest.mark.parametrize(("gamma", "expected"), [(1, 0.626227), (3, 0.470601), (5, 0.384995)])
def test_by_hand(gamma: float, expected: float) -> None:
    loss = dual_focal(FIXTURE_A, LABELS_A, gamma=gamma).mean()
    assert loss.item() == pytest.approx(expected, abs=1e-6)


def by_book(z: torch.Tensor, y: int, gamma: float) -> torch.Tensor:
    p = z.softmax(0)
    below = [p[k] for k in range(len(p)) if p[k] < p[y]]
    return -((1 - p[y] + (max(below) if below else 0)) ** gamma) * p[y].log()


def test_every_class_of_a_distribution_has_its_own_runner_up() -> None:
    # Rounded, so that there are ties; float64, so that equal logits stay equal.
    logits = (3 * torch.randn(40, 6).double()).round() / 2
    targets = torch.randn(40, 6).double().softmax(1)
    for loss, z, q in zip(dual_focal(logits, targets, gamma=2), logits, targets, strict=True):
        expected = sum(float(q[k] * by_book(z, k, 2)) for k in range(6))
        assert loss.item() == pytest.approx(expected, abs=1e-9)


def test_the_gradient_flows_through_the_runner_up() -> None:
    logits = torch.randn(9, 5, dtype=torch.float64, requires_grad=True)
    labels = torch.arange(9) % 5
    dual_focal(logits, labels, gamma=3).sum().backward()
    again = logits.detach().clone().requires_grad_()
    sum(by_book(z, int(y), 3) for z, y in zip(again, labels, strict=True)).backward()
    assert torch.allclose(logits.grad, again.grad)


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_targets_with_few_classes_take_another_way_to_the_same_end(classes: int) -> None:
    # Rounded, so that there are ties; one row has no target, another a single class.
    logits = ((3 * torch.randn(30, 7).double()).round() / 2).requires_grad_()
    shares = torch.rand(30, 7).double()
    targets = shares * (shares >= shares.topk(classes, 1).values[:, -1:])
    targets[:2] = 0
    targets[1, 0] = 0.4
    dual_focal(logits, targets, gamma=3).sum().backward()
    again = logits.detach().clone().requires_grad_()
    rows = zip(again, targets, strict=True)
    sum(q[k] * by_book(z, k, 3) for z, q in rows for k in range(7)).backward()
    # Of equal runners-up any may have the slope: together it is the same.
    for ours, theirs, z in zip(logits.grad, again.grad, again.detach(), strict=True):
        for value in z.unique():
            assert ours[z == value].sum().item() == pytest.approx(theirs[z == value].sum().item())


def test_no_focus_is_cross_entropy() -> None:
    losses = dual_focal(FIXTURE_A, LABELS_A, gamma=0)
    assert torch.equal(losses, cross_entropy(FIXTURE_A, LABELS_A))
