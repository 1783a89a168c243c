"""SoftMatch against a loop in float64, and against numbers worked out by hand."""

import math

import pytest
import torch

from mixcal.core.facts import DataFacts
from mixcal.methods.algorithms.softmatch import softmatch

FACTS = DataFacts(classes=3, class_counts=(1, 1, 1), labeled=3, unlabeled=9)


def logits_with(confidences: list[float]) -> torch.Tensor:
    rows = [[c, (1 - c) / 2, (1 - c) / 2] for c in confidences]
    return torch.tensor(rows, dtype=torch.float64).log().float()


def test_by_hand() -> None:
    algorithm = softmatch(FACTS, align=False, momentum=1.0)
    algorithm.weigh.mean.fill_(0.7)
    algorithm.weigh.variance.fill_(0.04)
    weights = algorithm.weigh(logits_with([0.95, 0.6, 0.4]), torch.arange(3))
    assert weights.tolist() == pytest.approx([1, 0.606531, 0.011109], abs=1e-6)


def test_moments_move_by_hand() -> None:
    algorithm = softmatch(FACTS, align=False)
    algorithm.weigh.mean.fill_(0.7)
    algorithm.weigh.variance.fill_(0.04)
    algorithm.weigh(logits_with([0.95, 0.6, 0.4]), torch.arange(3))
    assert algorithm.weigh.mean.item() == pytest.approx(0.69995, abs=1e-7)
    assert algorithm.weigh.variance.item() == pytest.approx(0.0400375, abs=5e-6)


def by_the_book(batches: list[torch.Tensor], moments: str) -> list[list[float]]:
    """The paper's formulas, sample by sample."""
    mu, variance, average, weights = 1 / 3, 1.0, None, []
    for logits in batches:
        probs = logits.double().softmax(1).tolist()
        n = len(probs)
        mean = [sum(row[k] for row in probs) / n for k in range(3)]
        average = (
            mean
            if average is None
            else [0.999 * old + 0.001 * new for old, new in zip(average, mean, strict=True)]
        )
        aligned = []
        for row in probs:
            raw = [p * (1 / 3 + 1e-6) / (a + 1e-6) for p, a in zip(row, average, strict=True)]
            aligned.append([value / sum(raw) for value in raw])
        followed = [max(row) for row in (aligned if moments == "aligned" else probs)]
        center = sum(followed) / n
        mu = 0.999 * mu + 0.001 * center
        spread = sum((c - center) ** 2 for c in followed) / (n - 1)
        variance = 0.999 * variance + 0.001 * spread
        weights.append(
            [math.exp(-(min(max(row) - mu, 0) ** 2) / (2 * variance / 4)) for row in aligned]
        )
    return weights


@pytest.mark.parametrize("moments", ["raw", "aligned"])
def test_equals_the_formulas_over_many_steps(moments: str) -> None:
    algorithm = softmatch(FACTS, moments=moments)
    batches = [torch.randn(9, 3) * 3 + torch.tensor([1.0, 0, -1]) for _ in range(50)]
    expected = by_the_book(batches, moments)
    for logits, weights in zip(batches, expected, strict=True):
        ours = algorithm.weigh(logits, torch.arange(9))
        assert ours.tolist() == pytest.approx(weights, abs=1e-5)


def test_alignment_by_hand() -> None:
    algorithm = softmatch(FACTS)
    algorithm.weigh.started.fill_(True)
    algorithm.weigh.prediction.copy_(torch.tensor([0.5, 0.3, 0.2]))
    algorithm.weigh.momentum = 1.0
    aligned = algorithm.weigh._aligned(torch.tensor([[0.6, 0.3, 0.1]]))
    assert aligned[0].tolist() == pytest.approx([0.444444, 0.370370, 0.185185], abs=1e-5)


def test_the_label_is_of_the_unaligned_prediction() -> None:
    algorithm = softmatch(FACTS)
    algorithm.weigh.started.fill_(True)
    algorithm.weigh.prediction.copy_(torch.tensor([0.9, 0.05, 0.05]))
    assert algorithm.pseudo_label(torch.tensor([[1.0, 0.9, 0.0]])).tolist() == [[1, 0, 0]]


def test_one_row_has_no_variance_and_moves_none() -> None:
    algorithm = softmatch(FACTS)
    algorithm.weigh(logits_with([0.9]), torch.arange(1))
    assert algorithm.weigh.variance.item() == 1


def test_the_labeled_target_by_hand() -> None:
    algorithm = softmatch(FACTS, target="labeled", momentum=0.9)
    algorithm.follow_labeled(torch.tensor([[0.8, 0.1, 0.1], [0.4, 0.5, 0.1]]).log())
    # 0.9 · 1/3 + 0.1 · the mean (0.6, 0.3, 0.1).
    assert algorithm.weigh.target.tolist() == pytest.approx([0.36, 0.33, 0.31], abs=1e-6)
    algorithm.weigh.started.fill_(True)
    algorithm.weigh.prediction.copy_(torch.tensor([0.5, 0.3, 0.2]))
    algorithm.weigh.momentum = 1.0
    aligned = algorithm.weigh._aligned(torch.tensor([[0.6, 0.3, 0.1]]))
    # 0.432, 0.33 and 0.155 over their sum.
    assert aligned[0].tolist() == pytest.approx([0.471101, 0.359869, 0.169029], abs=1e-5)


def test_only_the_labeled_target_is_memory() -> None:
    assert "target" not in softmatch(FACTS).weigh.state_dict()
    assert softmatch(FACTS).follow_labeled is None
    assert "target" in softmatch(FACTS, target="labeled").weigh.state_dict()
    assert softmatch(FACTS, target="labeled", align=False).follow_labeled is None


def test_soft_pseudo_targets_are_the_unaligned_prediction() -> None:
    logits = torch.tensor([[1.0, 0.9, 0.0]])
    made = softmatch(FACTS, pseudo_targets="soft").pseudo_label(logits)
    assert torch.equal(made, logits.softmax(1))
