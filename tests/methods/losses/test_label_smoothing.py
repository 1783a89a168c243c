"""Label smoothing against numbers worked out by hand and against torch's own."""

import pytest
import torch
import torch.nn.functional as F

from mixcal.methods.losses.label_smoothing import smoothed, smoothed_cross_entropy
from tests.support.fixtures import FIXTURE_A, LABELS_A, one_hot


@pytest.mark.parametrize(
    ("epsilon", "mode", "expected"),
    [
        (0.1, "uniform", 0.867209),
        (0.1, "others", 0.910959),
        (0.05, "uniform", 0.823459),
        (0.05, "others", 0.845334),
    ],
)
def test_by_hand(epsilon: float, mode: str, expected: float) -> None:
    losses = smoothed_cross_entropy(FIXTURE_A, one_hot(LABELS_A, 3), epsilon=epsilon, mode=mode)
    assert losses.mean().item() == pytest.approx(expected, abs=2e-6)


def test_equals_torch() -> None:
    logits, labels = torch.randn(40, 6), torch.randint(6, (40,))
    theirs = F.cross_entropy(logits, labels, label_smoothing=0.2, reduction="none")
    ours = smoothed_cross_entropy(logits, one_hot(labels, 6), epsilon=0.2)
    assert torch.allclose(ours, theirs, atol=1e-6)


def test_modes_agree_after_rescaling() -> None:
    targets = torch.randn(20, 5).softmax(1)
    uniform = smoothed(targets, epsilon=0.3)
    others = smoothed(targets, epsilon=0.3 * 4 / 5, mode="others")
    assert torch.allclose(uniform, others, atol=1e-7)


def test_targets_stay_distributions_and_no_target_stays_none() -> None:
    targets = torch.cat([torch.randn(4, 5).softmax(1), torch.zeros(1, 5)])
    for mode in ("uniform", "others"):
        sums = smoothed(targets, epsilon=0.4, mode=mode).sum(1)
        assert sums.tolist() == pytest.approx([1, 1, 1, 1, 0], abs=1e-6)


def test_zero_strength_is_cross_entropy() -> None:
    targets = torch.randn(4, 5).softmax(1)
    assert torch.equal(smoothed(targets, epsilon=0.0), targets)
