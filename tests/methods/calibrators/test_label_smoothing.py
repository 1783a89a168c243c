"""The label-smoothing calibrator: which parts it touches, and that it equals the loss."""

import torch

from mixcal.core.facts import DataFacts
from mixcal.methods.calibrators.label_smoothing import label_smoothing
from mixcal.methods.losses.label_smoothing import smoothed_cross_entropy

FACTS = DataFacts(classes=4, class_counts=(1, 1, 1, 1), labeled=4)


def test_every_part_by_default_or_those_named() -> None:
    assert set(label_smoothing(FACTS).criteria) == {"labeled", "unlabeled", "mixed"}
    assert set(label_smoothing(FACTS, parts=["labeled"]).criteria) == {"labeled"}


def test_the_criterion_is_the_loss() -> None:
    logits, targets = torch.randn(8, 4), torch.randn(8, 4).softmax(1)
    criterion = label_smoothing(FACTS, epsilon=0.3).criteria["mixed"]
    theirs = smoothed_cross_entropy(logits, targets, epsilon=0.3)
    assert torch.equal(criterion(logits, targets), theirs)
