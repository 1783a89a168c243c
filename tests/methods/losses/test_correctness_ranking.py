"""The correctness ranking loss against numbers worked out by hand."""

import pytest
import torch

from mixcal.methods.losses.correctness_ranking import (
    correctness_ranking,
    correctness_share,
    ranking_losses,
)
from mixcal.methods.losses.cross_entropy import cross_entropy

COUNTS = torch.tensor([0, 3, 1, 3])
CONFIDENCE = torch.tensor([0.9, 0.6, 0.7, 0.8])
# Two classes, so that the confidences are those.
LOGITS = torch.stack([CONFIDENCE.log(), (1 - CONFIDENCE).log()], 1)
LABELS = torch.tensor([0, 1, 1, 0])


def test_by_hand() -> None:
    history = correctness_share(COUNTS, 3, COUNTS.min())
    assert history.tolist() == pytest.approx([0, 1, 1 / 3, 1])
    losses = ranking_losses(CONFIDENCE, history)
    assert losses.tolist() == pytest.approx([1.3, 0.766667, 0.566667, 1.1], abs=1e-6)
    assert losses.mean().item() == pytest.approx(0.933333, abs=1e-6)


def test_the_whole_adds_it_to_cross_entropy() -> None:
    loss = correctness_ranking(LOGITS, LABELS, counts=COUNTS, most=3, weight=0.5)
    plain = cross_entropy(LOGITS, LABELS)
    assert (loss - plain).mean().item() == pytest.approx(0.5 * 0.933333, abs=1e-6)


@pytest.mark.parametrize("count", [0, 2, 3])
def test_equal_counts_rank_nothing_and_divide_by_nothing(count: int) -> None:
    logits = LOGITS.clone().requires_grad_()
    counts = torch.full((4,), count)
    loss = correctness_ranking(logits, LABELS, counts=counts, most=3)
    loss.sum().backward()
    assert torch.equal(loss, cross_entropy(LOGITS, LABELS))
    assert torch.isfinite(logits.grad).all()


def test_the_smallest_count_of_the_whole_set_may_lie_outside_the_batch() -> None:
    history = correctness_share(torch.tensor([2, 4]), 6.0, torch.tensor(0))
    assert history.tolist() == pytest.approx([1 / 3, 2 / 3])


def test_the_gradient_reaches_both_confidences() -> None:
    confidence = CONFIDENCE.clone().requires_grad_()
    history = torch.tensor([0.0, 1.0, 1.0, 1.0])
    ranking_losses(confidence, history)[0].backward()
    assert confidence.grad.tolist() == [1, -1, 0, 0]
