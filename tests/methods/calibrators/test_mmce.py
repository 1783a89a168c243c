"""MMCE in a recipe: worked numbers, passes under mixup, and mixed rows weighted by λ."""

import pytest
import torch

from mixcal.core.activations import Activations
from mixcal.core.protocols import combine
from mixcal.core.rows import Batch, Rows
from mixcal.core.step import Passes, StepOutput
from mixcal.methods.calibrators.mixup import mixup
from mixcal.methods.calibrators.mmce import mmce
from mixcal.methods.losses.mmce import mmce as penalty
from mixcal.methods.objectives.supervised import Supervised
from tests.support.fixtures import FIXTURE_A, LABELS_A, one_hot
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network

FACTS = toy_facts()


@pytest.mark.parametrize(
    ("variant", "expected"),
    [("weighted", 0.668736), ("m_sq", 0.018232), ("m", 0.135026), ("port", 0.780940)],
)
def test_by_hand(variant: str, expected: float) -> None:
    rows = Rows(
        inputs=FIXTURE_A, targets=one_hot(LABELS_A, 3), index=torch.arange(4), part="labeled"
    )
    step = StepOutput(
        batch=Batch(labeled=rows),
        forward=Passes(torch.nn.Identity()),
        activations={"labeled": Activations(FIXTURE_A, FIXTURE_A)},
    )
    term = mmce(FACTS, weight=2.0, variant=variant).terms["mmce"]
    assert term(step, toy_clock()).losses["mmce"].item() == pytest.approx(2 * expected, abs=2e-6)


def passes_of(*calibrators):
    seen, network = [], toy_network()
    network.register_forward_hook(lambda module, inputs, _: seen.append(inputs[0]))
    outcome = Supervised(combine(list(calibrators)))(network, toy_batch(8), toy_clock())
    return outcome.losses["mmce"].item(), seen


def mixed_by_mixup():
    step = StepOutput(batch=toy_batch(8), forward=Passes(toy_network()))
    return mixup(FACTS).mixer(step, toy_clock())


def test_beside_mixup_it_is_the_sum_over_both_originals() -> None:
    found, seen = passes_of(mixup(FACTS), mmce(FACTS))
    assert len(seen) == 3
    mixed = mixed_by_mixup()
    expected = sum(
        penalty(toy_network()(rows.inputs).logits, rows.targets)
        for rows in (mixed.first, mixed.second)
    )
    assert found == pytest.approx(expected.item(), abs=1e-6)


def test_on_mixed_rows_both_labels_are_weighted_by_the_mix() -> None:
    found, seen = passes_of(mixup(FACTS), mmce(FACTS, placement="xtilde"))
    assert len(seen) == 1
    mixed = mixed_by_mixup()
    logits, share = toy_network()(mixed.rows.inputs).logits, mixed.image_weight[0]
    first, second = (
        penalty(logits, rows.targets.argmax(1)) for rows in (mixed.first, mixed.second)
    )
    assert first != second
    assert found == pytest.approx((share * first + (1 - share) * second).item(), abs=1e-6)
