"""ARC against numbers worked out by hand, slow loops, and finite differences of its gradient."""

import pytest
import torch

from mixcal.methods.losses.arc import arc
from tests.support.fixtures import FIXTURE_A, LABELS_A, one_hot


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize(
    ("variant", "bins", "bin_weight", "expected"),
    [
        ("V1", 1, "uniform", 0.000112904),
        ("V1", 1, "count", 0.000112904),
        ("V2", 1, "uniform", 0.007104614),
        ("V1", 5, "uniform", 0.044445823),
        ("V1", 5, "count", 0.111114558),
        ("V2", 5, "uniform", 0.044475667),
        ("V2", 5, "count", 0.111189168),
    ],
)
def test_by_hand(variant: str, bins: int, bin_weight: str, expected: float, soft: bool) -> None:
    targets = one_hot(LABELS_A, 3).double() if soft else LABELS_A
    found = arc(FIXTURE_A.double(), targets, variant=variant, bins=bins, bin_weight=bin_weight)
    assert found.item() == pytest.approx(expected, abs=1e-9)


def test_gradient_by_hand() -> None:
    logits = FIXTURE_A.double().requires_grad_()
    arc(logits, LABELS_A).backward()
    rows = logits.grad
    assert rows[0].tolist() == pytest.approx([0.001183, -0.000865, -0.000318], abs=1e-6)
    assert rows[2].tolist() == pytest.approx([-0.000512, 0.000700, -0.000188], abs=1e-6)


@pytest.mark.parametrize("variant", ["V1", "V2"])
@pytest.mark.parametrize("bins", [1, 5, (5, 15, 30)])
@pytest.mark.parametrize("bin_weight", ["uniform", "count"])
def test_gradient_agrees_with_finite_differences(variant: str, bins, bin_weight: str) -> None:
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(20, 4, dtype=torch.float64, generator=generator).requires_grad_()
    labels = torch.randint(4, (20,), generator=generator)

    def penalty(z: torch.Tensor) -> torch.Tensor:
        return arc(z, labels, variant=variant, bins=bins, bin_weight=bin_weight)

    assert torch.autograd.gradcheck(penalty, (logits,), eps=1e-7)


@pytest.mark.parametrize(("variant", "expected"), [("V1", 0.008855719), ("V2", 0.012377641)])
def test_on_mixed_rows_the_accuracy_is_mixed_too(variant: str, expected: float) -> None:
    logits = torch.tensor([[2.0, 1, 0], [0, 1.5, 1]]).double()
    first, second = torch.tensor([0, 1]), torch.tensor([1, 2])
    targets = (0.7 * one_hot(first, 3) + 0.3 * one_hot(second, 3)).double()
    assert arc(logits, targets, variant=variant).item() == pytest.approx(expected, abs=1e-8)


def by_book(c, right, bins: int, variant: str, bin_weight: str) -> float:
    total, n = 0.0, len(c)
    for m in range(bins):
        low, high = m / bins, (m + 1) / bins
        inside = [i for i in range(n) if low < c[i] <= high or (m == 0 and c[i] == 0)]
        if not inside:
            continue
        accuracy = sum(right[i] for i in inside) / len(inside)
        if variant == "V1":
            gap = (sum(c[i] for i in inside) / len(inside) - accuracy) ** 2
        else:
            gap = sum((c[i] - accuracy) ** 2 for i in inside) / len(inside)
        total += gap * (1 / bins if bin_weight == "uniform" else len(inside) / n)
    return total


@pytest.mark.parametrize("variant", ["V1", "V2"])
@pytest.mark.parametrize("bin_weight", ["uniform", "count"])
def test_by_the_book(variant: str, bin_weight: str) -> None:
    # Sure answers (c = 1) and edges of bins (c = 0.5) are among them.
    logits = torch.cat([2 * torch.randn(60, 3).double(), torch.tensor([[900.0, 0, 0]]).double()])
    logits = torch.cat([logits, torch.tensor([[0.0, 0, -900]]).double()])
    labels = torch.randint(3, (62,))
    confidence, predicted = logits.softmax(1).max(1)
    right = (predicted == labels).tolist()
    for bins in (1, 2, 10, 15):
        found = arc(logits, labels, variant=variant, bins=bins, bin_weight=bin_weight)
        book = by_book(confidence.tolist(), right, bins, variant, bin_weight)
        assert found.item() == pytest.approx(book, abs=1e-12)
    several = arc(logits, labels, variant=variant, bins=(2, 10), bin_weight=bin_weight)
    every = [arc(logits, labels, variant=variant, bins=m, bin_weight=bin_weight) for m in (2, 10)]
    assert several.item() == pytest.approx((every[0] + every[1]).item() / 2)


def test_which_samples_are_right_is_a_constant() -> None:
    found = []
    for labels in ([0, 1, 0, 2], [1, 1, 1, 2]):
        logits = FIXTURE_A.clone().requires_grad_()
        arc(logits, torch.tensor(labels)).backward()
        found.append(logits.grad)
    # Both have three of four right, but not the same three.
    assert torch.equal(found[0], found[1])


def test_matching_means_never_costs_more_than_matching_each() -> None:
    logits, labels = torch.randn(200, 5), torch.randint(5, (200,))
    for bins in (1, 5, 15):
        for bin_weight in ("uniform", "count"):
            knobs = {"bins": bins, "bin_weight": bin_weight}
            means = arc(logits, labels, variant="V1", **knobs)
            assert means <= arc(logits, labels, variant="V2", **knobs) + 1e-7


def test_a_network_that_answers_its_accuracy_costs_nothing() -> None:
    logits = torch.tensor([[0.75, 0.25]]).log().expand(8, 2)
    labels = torch.tensor([0, 0, 0, 1] * 2)
    for variant in ("V1", "V2"):
        assert arc(logits, labels, variant=variant).item() == pytest.approx(0, abs=1e-12)
