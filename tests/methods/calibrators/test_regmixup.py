"""RegMixup against its worked number and its equation; one pass holds both kinds of rows."""

import pytest
import torch
import torch.nn.functional as F

from mixcal.core.protocols import combine
from mixcal.core.rows import Batch
from mixcal.methods.calibrators.regmixup import regmixup
from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.objectives.supervised import Supervised
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network


def test_by_hand() -> None:
    plain = cross_entropy(torch.tensor([[3.0, 0, 0]]), torch.tensor([0]))
    mixed = cross_entropy(torch.tensor([[2.0, 1, 0]]), torch.tensor([[0.7, 0, 0.3]]))
    assert (plain + mixed).item() == pytest.approx(1.102529, abs=1e-6)
    assert 0.5 * (plain + mixed).item() == pytest.approx(0.551264, abs=1e-6)


def outcome_of(**knobs):
    seen = []
    network = toy_network()
    network.register_forward_hook(lambda module, inputs, _: seen.append(len(inputs[0])))
    objective = Supervised(combine([regmixup(toy_facts(), **knobs)]))
    outcome = objective(network, Batch(labeled=toy_batch(8).labeled), toy_clock())
    return outcome, seen


def test_one_pass_holds_both() -> None:
    outcome, seen = outcome_of()
    assert seen == [16]
    assert set(outcome.losses) == {"labeled", "mixed"}


def test_own_pass() -> None:
    assert outcome_of(joint_forward=False)[1] == [8, 8]


def test_without_mixing_it_is_one_and_eta_times_cross_entropy() -> None:
    # α = 0 gives λ = 1, so the mixed rows are the labeled ones again, for any permutation.
    outcome, _ = outcome_of(alpha=0.0, eta=3.0)
    labels = toy_batch(8).labeled.targets.argmax(1)
    expected = F.cross_entropy(toy_network()(toy_batch(8).labeled.inputs).logits, labels)
    assert outcome.total().item() == pytest.approx(4 * expected.item(), rel=1e-5)


def test_weights_of_both_terms() -> None:
    plain, _ = outcome_of()
    heavy, _ = outcome_of(eta=2.0)
    scaled, _ = outcome_of(scale=0.5)
    assert heavy.losses["mixed"].item() == pytest.approx(2 * plain.losses["mixed"].item())
    assert heavy.losses["labeled"].item() == pytest.approx(plain.losses["labeled"].item())
    assert scaled.total().item() == pytest.approx(0.5 * plain.total().item())
