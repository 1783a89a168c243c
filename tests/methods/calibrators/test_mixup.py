"""Mixup by the book: the worked number, the two-term form of its loss, and its invariants."""

import pytest
import torch
import torch.nn.functional as F

from mixcal.core.protocols import combine
from mixcal.core.rows import Batch
from mixcal.core.step import Passes, StepOutput
from mixcal.methods.calibrators.mixup import mixup
from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.mixing.coefficients import beta_draws
from mixcal.methods.objectives.supervised import Supervised
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network


def mixed_by(**knobs):
    step = StepOutput(batch=toy_batch(8, 20), forward=Passes(toy_network()))
    return step, mixup(toy_facts(), **knobs).mixer(step, toy_clock())


def test_by_hand() -> None:
    logits = torch.tensor([[2.0, 1.0, 0.0]])
    targets = 0.7 * F.one_hot(torch.tensor([0]), 3) + 0.3 * F.one_hot(torch.tensor([2]), 3)
    assert cross_entropy(logits, targets).item() == pytest.approx(1.007606, abs=1e-6)
    entropy = -(targets[targets > 0] * targets[targets > 0].log()).sum()
    assert entropy.item() == pytest.approx(0.610864, abs=1e-6)


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [(0.2, 0.8988), (0.4, 0.8398), (1, 0.7499), (2, 0.6876), (10, 0.5882), (20, 0.5626)],
)
def test_mean_of_the_larger_coefficient(alpha: float, expected: float) -> None:
    drawn = beta_draws(alpha, 200_000, torch.Generator().manual_seed(0))
    assert torch.maximum(drawn, 1 - drawn).mean().item() == pytest.approx(expected, abs=1.5e-3)


def test_the_two_term_form_is_the_same_loss() -> None:
    _, mixed = mixed_by(alpha=1.0)
    logits = torch.randn(8, 4)
    share = mixed.image_weight
    first = F.cross_entropy(logits, mixed.first.targets.argmax(1), reduction="none")
    second = F.cross_entropy(logits, mixed.second.targets.argmax(1), reduction="none")
    expected = share * first + (1 - share) * second
    assert torch.allclose(cross_entropy(logits, mixed.rows.targets), expected, atol=1e-5)


def test_equal_labels_make_it_cross_entropy_for_any_coefficient() -> None:
    batch = toy_batch(8, 20)
    same = torch.zeros_like(batch.labeled.targets)
    same[:, 2] = 1
    rows = type(batch.labeled)(
        inputs=batch.labeled.inputs, targets=same, index=batch.labeled.index, part="labeled"
    )
    step = StepOutput(batch=Batch(labeled=rows), forward=Passes(toy_network()))
    mixed = mixup(toy_facts(), alpha=1.0).mixer(step, toy_clock())
    assert torch.allclose(mixed.rows.targets, same)


def test_one_pass_of_as_many_rows() -> None:
    seen = []
    network = toy_network()
    network.register_forward_hook(lambda module, inputs, _: seen.append(len(inputs[0])))
    objective = Supervised(combine([mixup(toy_facts())]))
    outcome = objective(network, Batch(labeled=toy_batch(8).labeled), toy_clock())
    assert seen == [8]
    assert set(outcome.losses) == {"mixed"}


def test_both_originals_stay_at_hand() -> None:
    step, mixed = mixed_by(alpha=1.0, pairing="two_loaders")
    assert mixed.first is step.batch.labeled
    assert mixed.second is step.batch.extra["partner"]
    weight = mixed.image_weight.view(-1, 1, 1, 1)
    expected = weight * mixed.first.inputs + (1 - weight) * mixed.second.inputs
    assert torch.allclose(mixed.rows.inputs, expected, atol=1e-6)
    assert mixup(toy_facts(), pairing="two_loaders").streams == {"partner"}
