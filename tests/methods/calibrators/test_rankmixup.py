"""RankMixup's calibrator against the loss written out, its passes counted, its worked numbers."""

import pytest
import torch
import torch.nn.functional as F

from mixcal.core.protocols import combine
from mixcal.core.rows import Batch
from mixcal.core.step import Passes, StepOutput
from mixcal.methods.calibrators.rankmixup import rankmixup
from mixcal.methods.losses.rankmixup import rankmixup as rank_loss
from mixcal.methods.objectives.supervised import Supervised
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network

RAW = torch.tensor([[2.0, 0, 0], [1, 2, 0]])
MIXES = torch.tensor(
    [
        [[1, 0.5, 0], [0.5, 1, 0]],
        [[1.5, 0.2, 0], [1, 1.2, 0]],
        [[0.2, 0.3, 0], [2, 1, 0]],
    ]
)
TARGETS = torch.tensor(
    [
        [[0.6, 0.4, 0], [0.4, 0.6, 0]],
        [[0.9, 0.1, 0], [0.1, 0.9, 0]],
        [[0.25, 0.75, 0], [0.0, 1.0, 0]],
    ]
)
LABELS = torch.tensor([0, 1])


def test_worked_numbers() -> None:
    given = {"mixed_logits": MIXES, "mixed_targets": TARGETS}
    total = rank_loss(RAW, LABELS, weight=0.1, **given).mean()
    assert total.item() == pytest.approx(0.353977, abs=1e-6)
    disorder = rank_loss(RAW, torch.zeros(2, 3), weight=1.0, **given)
    assert disorder.mean().item() == pytest.approx(0.304019, abs=1e-6)
    assert (1 - disorder).tolist() == pytest.approx([0.734105, 0.657857], abs=1e-6)
    first = {"mixed_logits": MIXES[:1], "mixed_targets": TARGETS[:1], "variant": "mrl"}
    ranked = rank_loss(RAW, torch.zeros(2, 3), weight=1.0, margin=2.0, **first)
    assert ranked.tolist() == pytest.approx([1.0, 1.0], abs=1e-6)


def outcome_of(**knobs):
    seen = []
    network = toy_network()
    network.register_forward_hook(lambda module, inputs, _: seen.append(len(inputs[0])))
    objective = Supervised(combine([rankmixup(toy_facts(), **knobs)]))
    return objective(network, Batch(labeled=toy_batch(8).labeled), toy_clock()), seen


@pytest.mark.parametrize(
    ("knobs", "passes"),
    [
        ({}, [8, 24]),
        ({"variant": "mrl"}, [8, 8]),
        ({"joint_forward": True}, [32]),
    ],
)
def test_passes(knobs, passes) -> None:
    outcome, seen = outcome_of(**knobs)
    assert seen == passes
    # The mixes have no cross-entropy of their own.
    assert set(outcome.losses) == {"labeled", "ranking"}


def test_three_independent_permutations_and_coefficients() -> None:
    rows = toy_batch(8).labeled
    step = StepOutput(batch=Batch(labeled=rows), forward=Passes(toy_network()))
    mixed = rankmixup(toy_facts()).mixer(step, toy_clock())
    weight = mixed.image_weight.view(3, 8)
    assert weight[:, 0].unique().numel() == 3
    assert all(row.unique().numel() == 1 for row in weight)
    share = mixed.image_weight.view(-1, 1, 1, 1)
    expected = share * torch.cat([rows.inputs] * 3) + (1 - share) * mixed.second.inputs
    assert torch.allclose(mixed.rows.inputs, expected, atol=1e-6)
    for turn in range(3):
        partners = mixed.second.inputs[8 * turn : 8 * turn + 8]
        ours = sorted(row.sum().item() for row in partners)
        assert ours == pytest.approx(sorted(row.sum().item() for row in rows.inputs))
    assert not torch.equal(mixed.second.index[:8], mixed.second.index[8:16])


def test_against_the_loss_written_out() -> None:
    outcome, _ = outcome_of(weight=0.7, variant="mrl", margin=1.0)
    network, rows = toy_network(), toy_batch(8).labeled
    raw = network(rows.inputs).logits
    step = StepOutput(batch=Batch(labeled=rows), forward=Passes(network))
    mixed = rankmixup(toy_facts(), variant="mrl").mixer(step, toy_clock())
    theirs = network(mixed.rows.inputs).logits
    two_classes = (mixed.first.targets.argmax(1) != mixed.second.targets.argmax(1)).float()
    gap = (theirs.amax(1) - raw.amax(1) + 1.0).clamp(min=0) * two_classes
    assert outcome.losses["ranking"].item() == pytest.approx(0.7 * gap.mean().item(), abs=1e-6)
    expected = F.cross_entropy(raw, rows.targets.argmax(1))
    assert outcome.losses["labeled"].item() == pytest.approx(expected.item(), abs=1e-6)
