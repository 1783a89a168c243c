"""FixMatch's mask by hand, at the threshold and around it."""

import pytest
import torch

from mixcal.core.errors import BadInput
from mixcal.core.facts import DataFacts
from mixcal.methods.algorithms.fixmatch import fixmatch

FACTS = DataFacts(classes=2, class_counts=(1, 1), labeled=2, unlabeled=5)
INDEX = torch.arange(5)


def logits_of(*confidences: float) -> torch.Tensor:
    probs = torch.tensor(confidences, dtype=torch.float64)
    return torch.stack([probs.log(), (1 - probs).log()], dim=1).float()


def test_the_threshold_itself_is_kept() -> None:
    # 0.75 has an exact softmax here: logits (log 3, 0).
    logits = torch.tensor([[3.0, 1.0]]).log()
    algorithm = fixmatch(FACTS, threshold=float(logits.softmax(1).amax()))
    assert algorithm.weigh(logits, INDEX[:1]).tolist() == [1.0]


def test_mask_and_labels() -> None:
    algorithm = fixmatch(FACTS)
    logits = logits_of(0.96, 0.94, 0.03, 0.5, 0.9999)
    assert algorithm.weigh(logits, INDEX).tolist() == [1, 0, 1, 0, 1]
    assert algorithm.pseudo_label(logits).argmax(1).tolist()[:3] == [0, 0, 1]
    assert algorithm.pseudo_label(logits).sum(1).tolist() == [1] * 5


def test_a_temperature_below_one_lets_more_through() -> None:
    logits = logits_of(0.9, 0.6, 0.5, 0.5, 0.5)
    assert fixmatch(FACTS, temperature=0.5).weigh(logits, INDEX).tolist() == [1, 0, 0, 0, 0]


def test_a_cap_scales_the_threshold_to_what_smoothed_labels_allow() -> None:
    # ε = 0.1 and two classes: the best answer is 0.95, so the threshold falls to 0.95 · 0.95.
    weights = fixmatch(FACTS, threshold_cap=0.1).weigh(logits_of(0.91, 0.89, 0.5, 0.5, 0.5), INDEX)
    assert weights.tolist() == [1, 0, 0, 0, 0]


@pytest.mark.parametrize("cap", [-1.0, 2.0, float("nan")])
def test_a_cap_that_is_no_share_is_refused(cap: float) -> None:
    with pytest.raises(BadInput, match=r"threshold_cap is .* from 0 to 1"):
        fixmatch(FACTS, threshold_cap=cap)
