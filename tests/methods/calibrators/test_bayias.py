"""Bayias against its worked logits: equal logits answer the training prior while training."""

import pytest
import torch
import torch.nn.functional as F

from mixcal.methods.calibrators.bayias import bayias
from mixcal.methods.losses.prior_adjusted import adjusted, prior_adjusted_cross_entropy
from tests.support.toy import toy_facts

PRIOR = torch.tensor([0.7, 0.2, 0.1])


def test_worked_logits() -> None:
    found = adjusted(torch.ones(1, 3), prior=PRIOR)
    assert found[0].tolist() == pytest.approx([1.741937, 0.489174, -0.203973], abs=1e-6)
    assert found.softmax(1)[0].tolist() == pytest.approx(PRIOR.tolist(), abs=1e-6)


def test_a_class_without_images_stays_finite() -> None:
    found = adjusted(torch.ones(1, 3), prior=torch.tensor([0.5, 0.5, 0.0]))
    assert found[0, 2].item() == 1.0
    assert torch.isfinite(found).all()


def test_labels_and_distributions_agree_and_strength_scales_the_shift() -> None:
    logits, labels = torch.randn(6, 3), torch.tensor([0, 1, 2, 0, 1, 2])
    soft = F.one_hot(labels, 3).float()
    ours = prior_adjusted_cross_entropy(logits, soft, prior=PRIOR, strength=2.0)
    assert torch.allclose(
        ours, prior_adjusted_cross_entropy(logits, labels, prior=PRIOR, strength=2.0)
    )
    expected = F.cross_entropy(logits + 2 * (3 * PRIOR).log(), labels, reduction="none")
    assert torch.allclose(ours, expected, atol=1e-6)


def test_reads_the_class_counts_of_the_labeled_rows() -> None:
    calibrator = bayias(toy_facts(class_counts=(70, 20, 5, 5)))
    assert set(calibrator.criteria) == {"labeled", "mixed"}
    logits = torch.zeros(1, 4)
    loss = calibrator.criteria["mixed"](logits, F.one_hot(torch.tensor([0]), 4).float())
    assert loss.item() == pytest.approx(-torch.tensor(0.7).log().item(), abs=1e-6)


def test_balanced_batches_are_corrected_by_their_sampler_alone() -> None:
    criterion = bayias(toy_facts(class_counts=(70, 20, 10, 0), order="balanced")).criteria[
        "labeled"
    ]
    logits, labels = torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
    ours = criterion(logits, F.one_hot(labels, 4).float())
    # Three classes occur, each in a third of the rows; the fourth stays as it is.
    expected = F.cross_entropy(
        logits + torch.tensor([4 / 3, 4 / 3, 4 / 3, 1]).log(), labels, reduction="none"
    )
    assert torch.allclose(ours, expected, atol=1e-6)
