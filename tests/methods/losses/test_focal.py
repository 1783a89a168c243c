"""Focal losses against numbers worked out by hand, a slow loop, and cross-entropy at γ = 0."""

import pytest
import torch

from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.focal import focal, focal_sample_dependent, scheduled_gamma
from tests.support.fixtures import FIXTURE_A, LABELS_A


def test_by_hand() -> None:
    losses = focal(FIXTURE_A, LABELS_A, gamma=3)
    expected = [0.015291, 0.011104, 1.508145, 0.000647]
    assert losses.tolist() == pytest.approx(expected, abs=1e-6)
    assert losses.mean().item() == pytest.approx(0.383797, abs=1e-6)
    dependent = focal_sample_dependent(FIXTURE_A, LABELS_A)
    assert dependent.mean().item() == pytest.approx(0.302602, abs=1e-6)


def test_each_sample_has_a_gamma_of_its_own() -> None:
    losses = focal_sample_dependent(FIXTURE_A, LABELS_A)
    for n, gamma in enumerate((3, 3, 5, 3)):
        assert losses[n] == focal(FIXTURE_A, LABELS_A, gamma=gamma)[n]


def test_soft_targets_by_the_book() -> None:
    logits, targets = torch.randn(6, 4), torch.randn(6, 4).softmax(1)
    for loss, z, q in zip(focal(logits, targets, gamma=2.5), logits, targets, strict=True):
        p = z.softmax(0)
        by_book = sum(float(q[k] * (1 - p[k]) ** 2.5 * -p[k].log()) for k in range(4))
        assert loss.item() == pytest.approx(by_book, abs=1e-6)


def test_no_focus_is_cross_entropy() -> None:
    losses = focal(FIXTURE_A, LABELS_A, gamma=0)
    assert torch.equal(losses, cross_entropy(FIXTURE_A, LABELS_A))


def test_the_gradient_flows_through_both_factors() -> None:
    logits = FIXTURE_A.clone().requires_grad_()
    focal(logits, LABELS_A, gamma=3).sum().backward()
    p = FIXTURE_A.softmax(1)
    true = p.gather(1, LABELS_A[:, None])
    factor = (1 - true) ** 3 - 3 * true * (1 - true) ** 2 * true.log()
    assert torch.allclose(logits.grad, factor * (p - torch.eye(3)[LABELS_A]), atol=1e-6)


@pytest.mark.parametrize("gamma", [0.5, 1, 3])
def test_a_certain_answer_has_a_finite_gradient(gamma: float) -> None:
    logits = torch.tensor([[200.0, 0, 0], [0, 200.0, 0]], requires_grad=True)
    focal(logits, torch.tensor([0, 0]), gamma=gamma).sum().backward()
    assert torch.isfinite(logits.grad).all()


@pytest.mark.parametrize("gamma", [0.5, 1, 3])
@pytest.mark.parametrize("kind", [focal, focal_sample_dependent])
def test_slopes_written_down_are_those_of_autograd(kind, gamma: float) -> None:
    logits = (3 * torch.randn(60, 5, dtype=torch.float64)).requires_grad_()
    targets = torch.randn(60, 5, dtype=torch.float64).softmax(1)
    kind(logits, targets, gamma=gamma).sum().backward()
    again = logits.detach().clone().requires_grad_()
    logs = again.log_softmax(1)
    low = kind is focal_sample_dependent
    exponents = torch.where((logs.exp() < 0.2) & torch.tensor(low), 5.0, float(gamma)).detach()
    (-targets * (1 - logs.exp()) ** exponents * logs).sum().backward()
    assert torch.allclose(logits.grad, again.grad, atol=1e-10)


def test_the_schedule_takes_the_last_value_that_has_begun() -> None:
    found = [scheduled_gamma(e, (5, 3, 1), (0, 100, 250)) for e in (0, 99, 100, 249, 250, 349)]
    assert found == [5, 5, 3, 3, 1, 1]
