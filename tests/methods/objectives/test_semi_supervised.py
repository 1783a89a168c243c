"""The semi-supervised step against the same step written out by hand, in both weak-branch modes."""

import copy
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from mixcal.core.errors import BadInput
from mixcal.core.protocols import Calibrator
from mixcal.core.rows import Batch
from mixcal.methods.algorithms.fixmatch import fixmatch
from mixcal.methods.algorithms.softmatch import softmatch
from mixcal.methods.calibrators.mixup import mixup
from mixcal.methods.objectives.semi_supervised import SemiSupervised
from tests.support.toy import CLASSES, toy_batch, toy_clock, toy_facts, toy_network


def by_hand(network, batch: Batch, *, joint: bool, threshold: float) -> torch.Tensor:
    weak, strong, labeled = (
        rows.inputs for rows in (batch.unlabeled.weak, batch.unlabeled.strong, batch.labeled)
    )
    if joint:
        logits = network(torch.cat([labeled, strong, weak])).logits
        seen = logits[len(labeled) + len(strong) :].detach()
    else:
        with torch.no_grad():
            seen = network(weak).logits
        logits = network(torch.cat([labeled, strong])).logits
    confidence, labels = seen.softmax(1).max(1)
    supervised = F.cross_entropy(logits[: len(labeled)], batch.labeled.targets.argmax(1))
    each = F.cross_entropy(
        logits[len(labeled) : len(labeled) + len(strong)], labels, reduction="none"
    )
    return supervised + (each * (confidence >= threshold)).mean()


@pytest.mark.parametrize("weak_branch", ["joint", "separate"])
def test_equals_fixmatch_by_hand(weak_branch: str) -> None:
    batch, network = toy_batch(), toy_network()
    twin = copy.deepcopy(network)
    objective = SemiSupervised(
        fixmatch(toy_facts(), threshold=0.3), Calibrator(), weak_branch=weak_branch
    )
    outcome = objective(network, batch, toy_clock())
    outcome.total().backward()
    expected = by_hand(twin, batch, joint=weak_branch == "joint", threshold=0.3)
    expected.backward()
    assert outcome.total().item() == pytest.approx(expected.item(), abs=1e-6)
    for ours, theirs in zip(network.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(ours.grad, theirs.grad, atol=1e-6)
    assert torch.equal(network.norm.running_mean, twin.norm.running_mean)
    assert 0 < outcome.readings["kept_fraction"] < 1


def test_the_weak_rows_receive_gradient_through_shared_statistics_only_when_joint() -> None:
    for weak_branch, expected in (("joint", True), ("separate", False)):
        batch = toy_batch()
        inputs = batch.unlabeled.weak.inputs.requires_grad_()
        objective = SemiSupervised(
            fixmatch(toy_facts(), threshold=0.0), Calibrator(), weak_branch=weak_branch
        )
        objective(toy_network(), batch, toy_clock()).total().backward()
        assert (inputs.grad is not None and bool(inputs.grad.any())) == expected


def test_readings_by_hand() -> None:
    batch = toy_batch()
    objective = SemiSupervised(fixmatch(toy_facts(), threshold=0.0), Calibrator())
    readings = objective(toy_network(), batch, toy_clock()).readings
    assert readings["kept_fraction"] == 1
    logits = (
        toy_network()
        .train()(
            torch.cat(
                [r.inputs for r in (batch.labeled, batch.unlabeled.strong, batch.unlabeled.weak)]
            )
        )
        .logits[28:]
    )
    known = batch.unlabeled.hidden_labels >= 0
    wrong = logits.argmax(1)[known] != batch.unlabeled.hidden_labels[known]
    assert readings["impurity_all"].item() == pytest.approx(wrong.float().mean().item())
    assert readings["impurity_kept"].item() == pytest.approx(wrong.float().mean().item())


def test_without_unlabeled_rows_it_says_so() -> None:
    objective = SemiSupervised(fixmatch(toy_facts()), Calibrator())
    with pytest.raises(BadInput, match="unlabeled"):
        objective(toy_network(), Batch(labeled=toy_batch().labeled), toy_clock())


def test_its_memory_is_in_one_state_dict() -> None:
    from mixcal.methods.algorithms.flexmatch import flexmatch

    objective = SemiSupervised(flexmatch(toy_facts()), Calibrator())
    objective(toy_network(), toy_batch(), toy_clock())
    again = SemiSupervised(flexmatch(toy_facts()), Calibrator())
    again.load_state_dict(objective.state_dict())
    assert torch.equal(again.algorithm.weigh.last, objective.algorithm.weigh.last)
    assert set(objective.state_dict()) == {"memory.weigh.last", "memory.weigh.counts"}


@pytest.mark.parametrize("weak_branch", ["joint", "separate"])
def test_an_algorithm_follows_the_labeled_rows_of_the_step_or_of_those_before(
    weak_branch: str,
) -> None:
    batch, network = toy_batch(), toy_network()
    algorithm = softmatch(toy_facts(), target="labeled", momentum=0.5)
    events: list[str] = []

    def following(logits: torch.Tensor) -> None:
        events.append("labeled")
        assert len(logits) == len(batch.labeled)
        assert not logits.requires_grad
        algorithm.follow_labeled(logits)

    algorithm.weigh.register_forward_pre_hook(lambda *_: events.append("weigh"))
    objective = SemiSupervised(
        replace(algorithm, follow_labeled=following), Calibrator(), weak_branch=weak_branch
    )
    objective(network, batch, toy_clock())
    assert events == (["labeled", "weigh"] if weak_branch == "joint" else ["weigh", "labeled"])
    assert not torch.allclose(algorithm.weigh.target, torch.full((CLASSES,), 1 / CLASSES))


def test_who_follows_labeled_rows_needs_them_unmixed() -> None:
    algorithm = softmatch(toy_facts(), target="labeled")
    with pytest.raises(BadInput, match=r'drop the mixer, or take target = "uniform"'):
        SemiSupervised(algorithm, mixup(toy_facts()))


def test_soft_pseudo_targets_enter_the_loss_as_they_are() -> None:
    batch, network = toy_batch(), toy_network()
    algorithm = fixmatch(toy_facts(), threshold=0.0, pseudo_targets="soft")
    twin = copy.deepcopy(network)
    ours = SemiSupervised(algorithm, Calibrator(), weak_branch="separate")
    outcome = ours(network, batch, toy_clock())
    with torch.no_grad():
        seen = twin(batch.unlabeled.weak.inputs).logits.softmax(1)
    rows = torch.cat([batch.labeled.inputs, batch.unlabeled.strong.inputs])
    logits = twin(rows).logits[len(batch.labeled) :]
    expected = F.cross_entropy(logits, seen)
    assert outcome.losses["unlabeled"].item() == pytest.approx(expected.item(), abs=1e-6)
