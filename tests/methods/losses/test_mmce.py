"""MMCE against numbers worked out by hand, a slow loop, and finite differences."""

import pytest
import torch

from mixcal.methods.losses import mmce as module
from mixcal.methods.losses.mmce import kernel_form, mmce
from tests.support.fixtures import FIXTURE_A, LABELS_A, one_hot


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize(
    ("variant", "expected"),
    [("weighted", 0.668736), ("m", 0.135026), ("m_sq", 0.018232), ("port", 0.780940)],
)
def test_by_hand(variant: str, expected: float, soft: bool) -> None:
    targets = one_hot(LABELS_A, 3) if soft else LABELS_A
    assert mmce(FIXTURE_A, targets, variant=variant).item() == pytest.approx(expected, abs=1e-6)


def test_squares_by_hand() -> None:
    assert mmce(FIXTURE_A, LABELS_A).item() ** 2 == pytest.approx(0.447207, abs=2e-6)
    port = mmce(FIXTURE_A, LABELS_A, variant="port").item()
    assert port**2 == pytest.approx(0.609868, abs=2e-6)


def by_book(c: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """The weighted form as its definition stands."""

    def k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.exp(-(a - b).abs() / 0.4)

    good, bad = c[right], c[~right]
    inner = sum(a * b * k(a, b) for a in bad for b in bad) / len(bad) ** 2
    inner += sum((1 - a) * (1 - b) * k(a, b) for a in good for b in good) / len(good) ** 2
    cross = sum((1 - a) * b * k(a, b) for a in good for b in bad)
    return (inner - 2 * cross / (len(good) * len(bad)) + 1e-10).sqrt()


@pytest.mark.parametrize("pairs", [1, 30, 1 << 20])
def test_by_the_book_in_chunks_of_any_size(pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK_PAIRS", pairs)
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(14, 4, dtype=torch.float64, generator=generator).requires_grad_()
    labels = torch.randint(4, (14,), generator=generator)
    found = mmce(logits, labels)
    confidence, predicted = logits.softmax(1).max(1)
    book = by_book(confidence, predicted == labels)
    assert found.item() == pytest.approx(book.item(), rel=1e-9)
    ours = torch.autograd.grad(found, logits)[0]
    assert torch.allclose(ours, torch.autograd.grad(book, logits)[0])


@pytest.mark.parametrize("variant", ["weighted", "port"])
@pytest.mark.parametrize("label", [0, 1])
def test_a_one_sided_batch_is_nothing_with_a_finite_gradient(variant: str, label: int) -> None:
    logits = torch.tensor([[2.0, 0], [3.0, 1], [1.0, 0]], requires_grad=True)
    loss = mmce(logits, torch.full((3,), label), variant=variant)
    loss.backward()
    assert loss.item() == 0
    assert torch.equal(logits.grad, torch.zeros(3, 2))


def test_the_form_agrees_with_finite_differences() -> None:
    pulls = torch.randn(6, dtype=torch.float64, requires_grad=True)
    places = torch.linspace(0, 1, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(kernel_form, (pulls, places))


def test_correctness_is_a_constant() -> None:
    mixed = torch.tensor([[0.7, 0.3], [0.4, 0.6]], requires_grad=True)
    logits = torch.tensor([[1.0, 0], [2.0, 1]], requires_grad=True)
    mmce(logits, mixed, variant="m").backward()
    assert mixed.grad is None
