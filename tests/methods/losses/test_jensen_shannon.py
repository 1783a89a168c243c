"""Jensen-Shannon consistency against numbers worked out by hand and its invariants."""

import pytest
import torch

from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.jensen_shannon import jensen_shannon, jensen_shannon_divergence

VIEWS = torch.tensor([[[0.7, 0.2, 0.1]], [[0.5, 0.3, 0.2]], [[0.6, 0.1, 0.3]]]).log()


def test_by_hand() -> None:
    assert jensen_shannon_divergence(VIEWS).item() == pytest.approx(0.040465, abs=1e-6)


@pytest.mark.parametrize(("weight", "expected"), [(1.0, 0.397140), (12.0, 0.842252)])
def test_the_whole_by_hand(weight: float, expected: float) -> None:
    loss = jensen_shannon(VIEWS[0], torch.tensor([0]), augmented_logits=VIEWS[1:], weight=weight)
    assert loss.item() == pytest.approx(expected, abs=1e-6)


def test_equal_predictions_agree() -> None:
    logits = torch.randn(5, 4)
    loss = jensen_shannon(logits, torch.zeros(5, 4), augmented_logits=torch.stack([logits] * 2))
    assert torch.allclose(loss, torch.zeros(5), atol=1e-5)


def test_the_gradient_reaches_every_view() -> None:
    views = VIEWS.clone().requires_grad_()
    jensen_shannon_divergence(views).sum().backward()
    assert (views.grad.abs().sum((1, 2)) > 0.01).all()


def test_extreme_views_stay_finite() -> None:
    views = torch.tensor([[[300.0, 0]], [[0, 300.0]]], requires_grad=True)
    loss = jensen_shannon_divergence(views)
    loss.backward()
    assert loss.item() == pytest.approx(torch.tensor(2.0).log().item(), abs=1e-5)
    assert torch.isfinite(views.grad).all()
    assert cross_entropy(views[0], torch.tensor([1])).item() == pytest.approx(300)


def test_gradient_agrees_with_finite_differences_in_every_view() -> None:
    logits = torch.randn(3, 4, 5, dtype=torch.float64)
    # Some classes are so unlikely everywhere that the mean is held up.
    logits[:, 0, 1] -= 30
    logits.requires_grad_()
    assert torch.autograd.gradcheck(jensen_shannon_divergence, (logits,), eps=1e-7, atol=1e-6)


def test_by_the_book() -> None:
    probs = torch.randn(3, 4, 5, dtype=torch.float64).softmax(2)
    mean = probs.mean(0)
    book = sum((p * (p / mean).log()).sum(1) for p in probs) / 3
    assert torch.allclose(jensen_shannon_divergence(probs.log()), book, atol=1e-12)
