"""AugMix against its worked divergence and against blends of its chains made one by one."""

import pytest
import torch
import torch.nn.functional as F

from mixcal.core.activations import Activations
from mixcal.core.errors import BadInput
from mixcal.core.protocols import combine
from mixcal.core.rows import Batch, Rows
from mixcal.core.step import Passes, StepOutput
from mixcal.methods.calibrators.augmix import augmix
from mixcal.methods.losses.jensen_shannon import jensen_shannon, jensen_shannon_divergence
from mixcal.methods.objectives.supervised import Supervised
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network

MEAN, STD = (0.4, 0.5, 0.6), (0.2, 0.25, 0.3)


def picture_rows(n: int = 6) -> Rows:
    generator = torch.Generator().manual_seed(0)
    raw = torch.randint(256, (n, 3, 8, 8), generator=generator).float() / 255
    inputs = (raw - torch.tensor(MEAN).view(1, 3, 1, 1)) / torch.tensor(STD).view(1, 3, 1, 1)
    labels = F.one_hot(torch.arange(n) % 4, 4).float()
    return Rows(inputs=inputs, targets=labels, index=torch.arange(n), part="labeled")


def mixed_by(rows: Rows, **knobs):
    facts = toy_facts(mean=MEAN, std=STD)
    step = StepOutput(batch=Batch(labeled=rows), forward=Passes(toy_network(channels=3)))
    return augmix(facts, **knobs).mixer(step, toy_clock())


def test_the_worked_divergence() -> None:
    probs = torch.tensor([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.6, 0.1, 0.3]])
    views = probs.log()[:, None]
    assert jensen_shannon_divergence(views).item() == pytest.approx(0.040465, abs=1e-6)
    for weight, expected in ((1.0, 0.397140), (12.0, 0.842252)):
        label = torch.tensor([0])
        found = jensen_shannon(views[0], label, augmented_logits=views[1:], weight=weight)
        assert found.item() == pytest.approx(expected, abs=1e-6)


def test_blends_lie_between_the_image_and_its_chains() -> None:
    rows = picture_rows()
    mixed = mixed_by(rows)
    assert len(mixed.rows) == 12
    assert torch.equal(mixed.first.inputs, torch.cat([rows.inputs] * 2))
    share = mixed.image_weight.view(-1, 1, 1, 1)
    expected = share * mixed.first.inputs + (1 - share) * mixed.second.inputs
    assert torch.allclose(mixed.rows.inputs, expected, atol=1e-6)
    assert mixed.image_weight.unique().numel() == 12
    # Two copies of one image go different ways, and blends stay within what pixels can be.
    assert not torch.allclose(mixed.rows.inputs[:6], mixed.rows.inputs[6:])
    low = (0 - torch.tensor(MEAN)) / torch.tensor(STD)
    high = (1 - torch.tensor(MEAN)) / torch.tensor(STD)
    assert bool((mixed.rows.inputs >= low.view(1, 3, 1, 1) - 1e-5).all())
    assert bool((mixed.rows.inputs <= high.view(1, 3, 1, 1) + 1e-5).all())


def test_one_pass_of_three_kinds_and_two_losses() -> None:
    seen = []
    network = toy_network()
    network.register_forward_hook(lambda module, inputs, _: seen.append(len(inputs[0])))
    objective = Supervised(combine([augmix(toy_facts(), weight=2.0)]))
    outcome = objective(network, Batch(labeled=toy_batch(8).labeled), toy_clock())
    assert seen == [24]
    assert set(outcome.losses) == {"labeled", "jensen_shannon"}


def test_the_gradient_flows_through_all_three_predictions() -> None:
    logits = torch.randn(3, 4, 5, requires_grad=True)
    jensen_shannon_divergence(logits).sum().backward()
    assert bool((logits.grad.abs().sum((1, 2)) > 0).all())


def test_equal_predictions_cost_nothing() -> None:
    logits = torch.randn(4, 5)
    assert jensen_shannon_divergence(torch.stack([logits] * 3)).abs().max() < 1e-6


def test_texts_are_refused() -> None:
    with pytest.raises(BadInput, match="AugMix"):
        augmix(toy_facts(input_kind="text"))


def test_the_term_by_hand_and_its_gradient_into_clean_rows_and_copies() -> None:
    clean = torch.randn(5, 4, requires_grad=True)
    copies = torch.randn(10, 4, requires_grad=True)
    rows = toy_batch(5).labeled
    step = StepOutput(
        batch=Batch(labeled=rows),
        forward=Passes(toy_network()),
        activations={
            part: Activations(z, z) for part, z in (("labeled", clean), ("mixed", copies))
        },
    )
    term = augmix(toy_facts(), weight=3.0).terms["jensen_shannon"]
    found = term(step, toy_clock()).losses["jensen_shannon"]
    probs = [z.softmax(1) for z in (clean, copies[:5], copies[5:])]
    mean = sum(probs) / 3
    book = sum((p * (p / mean).log()).sum(1) for p in probs) / 3
    assert found.item() == pytest.approx(3 * book.mean().item(), abs=1e-6)
    expected = torch.autograd.grad(3 * book.mean(), (clean, copies))
    for ours, theirs in zip(torch.autograd.grad(found, (clean, copies)), expected, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)
