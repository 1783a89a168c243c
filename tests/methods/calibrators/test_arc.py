"""ARC in a recipe: where it looks and how many passes that takes, against the loss written out;
what it does to the gradient; and the guard against the prior classifier."""

import pytest
import torch

from mixcal.core.clock import Clock
from mixcal.core.errors import BadInput
from mixcal.core.protocols import combine
from mixcal.core.step import Passes, StepOutput
from mixcal.methods.calibrators.arc import arc
from mixcal.methods.calibrators.mixup import mixup
from mixcal.methods.calibrators.regmixup import regmixup
from mixcal.methods.dynamics.chance import PriorClassifier, PriorClassifierWarning
from mixcal.methods.losses.arc import arc as penalty
from mixcal.methods.objectives.supervised import Supervised
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network

FACTS = toy_facts()


def passes_of(*calibrators):
    seen, network = [], toy_network()
    network.train()
    network.register_forward_hook(lambda module, inputs, _: seen.append(inputs[0]))
    outcome = Supervised(combine(list(calibrators)))(network, toy_batch(8), toy_clock())
    return outcome, seen, network


def test_without_mixing_it_is_the_penalty_of_the_labeled_rows() -> None:
    outcome, seen, _ = passes_of(arc(FACTS, weight=3.0, bins=5, variant="V2"))
    assert len(seen) == 1
    rows = toy_batch(8).labeled
    expected = 3 * penalty(toy_network()(rows.inputs).logits, rows.targets, bins=5, variant="V2")
    assert outcome.losses["arc"].item() == pytest.approx(expected.item(), abs=1e-6)


@pytest.mark.parametrize("pairing", ["permute", "two_loaders"])
def test_beside_mixup_three_training_mode_passes_and_a_sum(pairing: str) -> None:
    outcome, seen, network = passes_of(
        mixup(FACTS, pairing=pairing), arc(FACTS, weight=2.0, bins=5)
    )
    mixed, first, second = seen
    batch = toy_batch(8)
    assert torch.equal(first, batch.labeled.inputs)
    others = batch.extra["partner"]
    if pairing == "two_loaders":
        assert torch.equal(second, others.inputs)
    else:
        step = StepOutput(batch=batch, forward=Passes(toy_network()))
        others = mixup(FACTS).mixer(step, toy_clock()).second
        assert torch.equal(second, others.inputs)
    assert not torch.equal(mixed, first)
    # Every pass has moved the running statistics.
    assert network.norm.num_batches_tracked.item() == 3
    both = [(batch.labeled, first), (others, second)]
    gaps = [penalty(toy_network()(z).logits, rows.targets, bins=5) for rows, z in both]
    assert outcome.losses["arc"].item() == pytest.approx(2 * sum(gaps).item(), abs=1e-6)
    assert set(outcome.losses) == {"mixed", "arc"}


def test_both_originals_in_one_pass() -> None:
    _, seen, _ = passes_of(mixup(FACTS), arc(FACTS, joint_forward=True))
    assert [len(inputs) for inputs in seen] == [8, 16]


def test_on_the_mixed_rows_with_mixed_accuracy_and_no_further_pass() -> None:
    outcome, seen, _ = passes_of(mixup(FACTS), arc(FACTS, placement="xtilde"))
    assert len(seen) == 1
    step = StepOutput(batch=toy_batch(8), forward=Passes(toy_network()))
    mixed = mixup(FACTS).mixer(step, toy_clock())
    logits = toy_network()(mixed.rows.inputs).logits
    right = [
        (logits.argmax(1) == rows.targets.argmax(1)).float() for rows in (mixed.first, mixed.second)
    ]
    accuracy = (mixed.target_weight * right[0] + (1 - mixed.target_weight) * right[1]).mean()
    expected = (logits.softmax(1).amax(1).mean() - accuracy) ** 2
    assert outcome.losses["arc"].item() == pytest.approx(expected.item(), abs=1e-6)


def test_plain_looks_at_the_labeled_rows_alone() -> None:
    _, seen, _ = passes_of(mixup(FACTS), arc(FACTS, placement="plain"))
    assert len(seen) == 2
    assert torch.equal(seen[1], toy_batch(8).labeled.inputs)


def test_where_labeled_rows_have_a_pass_there_is_no_further_one() -> None:
    _, seen, _ = passes_of(regmixup(FACTS), arc(FACTS))
    assert [len(inputs) for inputs in seen] == [16]


def test_on_the_validation_rows_alone() -> None:
    calibrator = arc(FACTS, placement="validation")
    assert calibrator.streams == {"validation"}
    outcome, seen, network = passes_of(mixup(FACTS), calibrator)
    rows = toy_batch(8).extra["validation"]
    assert torch.equal(seen[1], rows.inputs)
    assert network.norm.num_batches_tracked.item() == 2
    expected = penalty(toy_network()(rows.inputs).logits, rows.targets)
    assert outcome.losses["arc"].item() == pytest.approx(expected.item(), abs=1e-6)


def test_mixed_rows_that_are_not_there_get_a_sentence() -> None:
    for calibrators in ([], [regmixup(FACTS)]):
        with pytest.raises(BadInput, match="add mixup"):
            combine([*calibrators, arc(FACTS, placement="xtilde")])


def collapsed(epochs: int, *, rate: float = 0.25, **knobs):
    """A term whose batches were right at this rate for so many whole epochs of ten steps."""
    calibrator = arc(FACTS, **knobs)
    watch = calibrator.terms["arc"].watch
    for step in range(10 * epochs + 1):
        right = (torch.arange(8) < 8 * rate).float()
        watch.take(
            right, torch.full((8,), 0.25), Clock.at(step, seed=0, steps=1000, epoch_steps=10)
        )
    return calibrator


def test_the_guard_names_the_prior_classifier() -> None:
    sentence = r"guessing \(25.0%\) for 5 epochs: .* prior classifier, .* weight 30 .* lower it\.$"
    (check,) = collapsed(5, guard="stop", weight=30.0).checks
    with pytest.raises(PriorClassifier, match=sentence):
        check()
    (check,) = collapsed(5, weight=30.0).checks
    with pytest.warns(PriorClassifierWarning, match=sentence):
        check()
    check()


def test_the_guard_waits_looks_at_whole_epochs_and_can_be_left_out() -> None:
    (check,) = collapsed(4, guard="stop").checks
    check()
    (check,) = collapsed(40, guard="stop", rate=0.5).checks
    check()
    assert collapsed(40, guard="off").checks == ()


def test_one_good_epoch_resets_the_guard() -> None:
    calibrator = collapsed(4, guard="stop")
    watch = calibrator.terms["arc"].watch
    for step in range(40, 51):
        watch.take(torch.ones(8), torch.ones(8), Clock.at(step, seed=0, steps=1000, epoch_steps=10))
    assert watch.stuck.item() == 0


def test_readings_are_detached_and_say_how_right_it_is() -> None:
    outcome, _, _ = passes_of(arc(FACTS))
    rows = toy_batch(8).labeled
    right = toy_network()(rows.inputs).logits.argmax(1) == rows.targets.argmax(1)
    assert outcome.readings["arc_accuracy"].item() == right.float().mean().item()
    assert outcome.readings["arc_epochs_at_chance"].item() == 0


def test_too_large_a_weight_ends_in_a_prior_classifier_and_the_guard_sees_it() -> None:
    """Training by gradient descent on ARC all but alone."""
    network, clock = toy_network(), toy_clock
    batch = toy_batch(32, 4)
    counts = tuple(batch.labeled.targets.sum(0).int().tolist())
    facts = toy_facts(class_counts=counts, labeled=32)
    objective = Supervised(combine([arc(facts, weight=1e3, guard="stop", guard_epochs=2)]))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    for step in range(41):
        optimizer.zero_grad()
        objective(network, batch, clock(step)).total().backward()
        optimizer.step()
    # No better than naming the most frequent class, and exactly as sure as that.
    logits = network(batch.labeled.inputs).logits
    right = logits.argmax(1) == batch.labeled.targets.argmax(1)
    assert right.float().mean().item() <= max(counts) / 32
    assert logits.softmax(1).amax(1).mean().item() == pytest.approx(max(counts) / 32, abs=1e-3)
    with pytest.raises(PriorClassifier):
        objective.calibrator.checks[0]()


def test_no_number_of_bins_at_all_is_refused() -> None:
    with pytest.raises(BadInput, match="at least one number of bins"):
        arc(FACTS, bins=())
