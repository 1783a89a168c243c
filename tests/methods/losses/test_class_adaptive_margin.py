"""The class-adaptive margin loss and the growth of its multipliers against numbers by hand."""

import pytest
import torch

from mixcal.methods.losses.class_adaptive_margin import (
    class_adaptive_margin,
    margin_penalty,
    next_multipliers,
    next_stiffness,
    violations,
)
from mixcal.methods.losses.cross_entropy import cross_entropy
from tests.support.fixtures import FIXTURE_A, LABELS_A

MULTIPLIERS, STIFFNESS = torch.tensor([0.1, 0.2, 0.3]), torch.ones(3)


def test_by_hand() -> None:
    known = {"multipliers": MULTIPLIERS, "stiffness": STIFFNESS, "margin": 1.0}
    loss = class_adaptive_margin(FIXTURE_A, LABELS_A, **known)
    assert loss.mean().item() == pytest.approx(1.486793, abs=1e-6)
    penalty = margin_penalty(FIXTURE_A, MULTIPLIERS, STIFFNESS, margin=1)
    assert penalty.mean().item() == pytest.approx(0.707083, abs=1e-6)
    found = next_multipliers(FIXTURE_A, MULTIPLIERS, STIFFNESS, margin=1)
    assert found.tolist() == pytest.approx([0.575, 0.600001, 1.35], abs=1e-6)
    assert violations(FIXTURE_A, margin=1).mean(0).tolist() == pytest.approx([0.25, 0, 0.875])


def test_by_the_book() -> None:
    stiffness = torch.tensor([0.5, 2.0, 4.0])
    for row, loss in zip(
        FIXTURE_A, margin_penalty(FIXTURE_A, MULTIPLIERS, stiffness, margin=2.0), strict=True
    ):
        total = 0.0
        for z, lam, rho in zip(row, MULTIPLIERS, stiffness, strict=True):
            x = lam + rho * ((row.max() - z) / 2.0 - 1)
            total += (x**2 - lam**2) / (2 * rho) if x >= 0 else -(lam**2) / (2 * rho)
        assert loss.item() == pytest.approx(float(total) / 3, abs=1e-6)


def test_multipliers_are_constants() -> None:
    multipliers = MULTIPLIERS.clone().requires_grad_()
    logits = FIXTURE_A.clone().requires_grad_()
    class_adaptive_margin(logits, LABELS_A, multipliers=multipliers.detach()).sum().backward()
    assert logits.grad.abs().sum() > 0


def test_at_its_start_and_beyond_every_gap_it_is_almost_cross_entropy() -> None:
    loss = class_adaptive_margin(FIXTURE_A, LABELS_A, margin=10.0)
    assert torch.allclose(loss, cross_entropy(FIXTURE_A, LABELS_A), atol=1e-6)


def test_multipliers_stay_within_their_bounds() -> None:
    far = torch.tensor([[1e9, 0.0]])
    found = next_multipliers(far, torch.zeros(2), torch.ones(2), margin=1.0)
    assert found.tolist() == pytest.approx([1e-6, 1e6])


def test_stiffness_grows_where_violations_persist() -> None:
    now = torch.tensor([0.95, 0.85, 0.1, -0.1, 1.0])
    before = torch.tensor([1.0, 1.0, -1.0, 1.0, 1.0])
    stiffness = torch.tensor([1.0, 1.0, 2.0, 1.0, 9.5])
    found = next_stiffness(stiffness, now, before)
    assert found.tolist() == pytest.approx([1.2, 1.0, 2.4, 1.0, 10.0])


def test_gradient_agrees_with_finite_differences_beyond_the_margin() -> None:
    logits = torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    multipliers = torch.linspace(0.1, 0.5, 5, dtype=torch.float64)
    stiffness = torch.linspace(1, 3, 5, dtype=torch.float64)

    def penalty(z: torch.Tensor) -> torch.Tensor:
        return margin_penalty(z, multipliers, stiffness, margin=0.5)

    assert torch.autograd.gradcheck(penalty, (logits,), eps=1e-7, atol=1e-5)
