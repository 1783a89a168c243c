"""RankMixup's losses against numbers worked out by hand and their invariants."""

import pytest
import torch

from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.rankmixup import rankmixup

RAW, LABELS = torch.tensor([[2.0, 0, 0], [1, 2, 0]]), torch.tensor([0, 1])
MIXES = torch.tensor(
    [
        [[1.0, 0.5, 0], [0.5, 1, 0]],
        [[1.5, 0.2, 0], [1, 1.2, 0]],
        [[0.2, 0.3, 0], [2, 1, 0]],
    ]
)
TARGETS = torch.tensor(
    [
        [[0.6, 0.4, 0], [0.4, 0.6, 0]],
        [[0.9, 0.1, 0], [0.1, 0.9, 0]],
        [[0.25, 0.75, 0], [0, 1.0, 0]],
    ]
)


def rank(mixes: torch.Tensor = MIXES, targets: torch.Tensor = TARGETS, **knobs) -> torch.Tensor:
    return rankmixup(RAW, LABELS, mixed_logits=mixes, mixed_targets=targets, **knobs)


def test_ndcg_by_hand() -> None:
    assert rank().mean().item() == pytest.approx(0.353977, abs=1e-6)
    disorder = rank(weight=1.0) - cross_entropy(RAW, LABELS)
    assert disorder.tolist() == pytest.approx([1 - 0.734105, 1 - 0.657857], abs=1e-6)
    assert cross_entropy(RAW, LABELS).mean().item() == pytest.approx(0.323575, abs=1e-6)


def test_the_order_of_the_mixes_is_irrelevant() -> None:
    order = torch.tensor([2, 0, 1])
    assert torch.allclose(rank(), rank(MIXES[order], TARGETS[order]))


def test_confidences_equal_to_their_targets_cost_nothing() -> None:
    sure = torch.tensor([[90.0, 0, 0], [0, 90, 0]])
    mixes = TARGETS.clamp(min=1e-30).log()
    loss = rankmixup(sure, LABELS, mixed_logits=mixes, mixed_targets=TARGETS, weight=1.0)
    assert torch.allclose(loss, torch.zeros(2), atol=1e-6)


@pytest.mark.parametrize(("space", "expected"), [("logit", [1.0, 1.0]), ("prob", None)])
def test_margins_by_hand(space: str, expected: list[float] | None) -> None:
    loss = rank(MIXES[:1], TARGETS[:1], variant="mrl", space=space, weight=1.0)
    disorder = loss - cross_entropy(RAW, LABELS)
    expected = expected or [2 - 0.280506, 2 - 0.158761]
    assert disorder.tolist() == pytest.approx(expected, abs=1e-6)


def test_a_mix_of_one_class_has_no_margin_but_counts() -> None:
    loss = rank(MIXES[2:], TARGETS[2:], variant="mrl", weight=1.0)
    disorder = loss - cross_entropy(RAW, LABELS)
    assert disorder.tolist() == pytest.approx([0.3 - 2 + 2, 0.0], abs=1e-6)


@pytest.mark.parametrize("variant", ["ndcg", "mrl"])
def test_raw_confidence_is_pulled_up_and_mixed_down(variant: str) -> None:
    raw, mixes = RAW.clone().requires_grad_(), MIXES.clone().requires_grad_()
    knobs = {"variant": variant, "weight": 1.0}
    loss = rankmixup(raw, LABELS, mixed_logits=mixes, mixed_targets=TARGETS, **knobs)
    (loss - cross_entropy(raw, LABELS)).sum().backward()
    if variant == "mrl":
        assert raw.grad[0, 0] < 0 < mixes.grad[0, 0, 0]
    else:
        # Here DCG < IDCG: every confidence is too low.
        assert raw.grad[0, 0] < 0
        assert mixes.grad[1, 0, 0] < 0
