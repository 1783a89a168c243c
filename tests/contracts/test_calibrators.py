"""One contract for every calibrator of the catalog, and for the four toy methods.

Finite; a gradient reaches the network; the batch is untouched; the same seed gives the same loss;
the memory round-trips; it works under autocast, on every host, and asks the device for nothing.
"""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch

from mixcal.catalog import ENTRIES, Entry, make
from mixcal.core.errors import BadInput
from mixcal.core.outcome import Outcome
from mixcal.core.protocols import Calibrator, Objective, combine
from mixcal.core.rows import Batch
from mixcal.methods.algorithms.fixmatch import fixmatch
from mixcal.methods.objectives.semi_supervised import SemiSupervised
from mixcal.methods.objectives.supervised import Supervised
from tests.contracts.variants import MAKERS
from tests.support.no_sync import no_synchronisation
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network

NAMED = {entry.name: entry for entry in ENTRIES if entry.kind == "calibrator"}
# What every host is, as one callable from a calibrator to an objective.
HOSTS: dict[str, Callable[..., Objective]] = {
    "supervised": lambda calibrator, **more: Supervised(calibrator, **more),
    "joint": lambda calibrator, **more: SemiSupervised(
        fixmatch(toy_facts(), threshold=0.3), calibrator, weak_branch="joint", **more
    ),
    "separate": lambda calibrator, **more: SemiSupervised(
        fixmatch(toy_facts(), threshold=0.3), calibrator, weak_branch="separate", **more
    ),
}


def objective_of(name: str, host: str, **more: Any) -> Objective:
    """The method on the host, or a skip where it says in one sentence that it does not fit."""
    facts = toy_facts(unlabeled=0) if host == "supervised" else toy_facts()
    try:
        return HOSTS[host](combine([MAKERS[name](facts)]), **more)
    except BadInput as error:
        assert str(error).endswith("."), "a refusal is a sentence"  # noqa: PT017
        pytest.skip(str(error))


def batch_for(host: str, seed: int = 0) -> Batch:
    batch = toy_batch(seed=seed)
    return Batch(labeled=batch.labeled, extra=batch.extra) if host == "supervised" else batch


def one_step(objective: Objective, host: str, *, step: int = 50, seed: int = 0) -> tuple:
    network = toy_network()
    network.train()
    outcome = objective(network, batch_for(host, seed), toy_clock(step))
    return network, outcome


@pytest.fixture(params=MAKERS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=HOSTS)
def host(request: pytest.FixtureRequest) -> str:
    return request.param


def test_finite_and_a_gradient_reaches_the_network(name: str, host: str) -> None:
    objective = objective_of(name, host)
    for step in (0, 50, 99):
        network, outcome = one_step(objective, host, step=step)
        assert torch.isfinite(outcome.total())
        outcome.total().backward()
        assert network.head.weight.grad.abs().sum() > 0
        assert network.conv.weight.grad.abs().sum() > 0
        assert all(not reading.requires_grad for reading in outcome.readings.values())


def test_the_batch_is_untouched(name: str, host: str) -> None:
    objective, batch = objective_of(name, host), batch_for(host)
    kept = copy.deepcopy(batch)
    objective(toy_network(), batch, toy_clock()).total().backward()
    groups = [(batch.labeled, kept.labeled)]
    groups += [(batch.extra[key], kept.extra[key]) for key in batch.extra]
    if batch.unlabeled is not None:
        groups += [
            (batch.unlabeled.weak, kept.unlabeled.weak),
            (batch.unlabeled.strong, kept.unlabeled.strong),
        ]
    for ours, before in groups:
        assert torch.equal(ours.inputs, before.inputs)
        assert torch.equal(ours.targets, before.targets)
        assert torch.equal(ours.index, before.index)


def losses(outcome: Outcome) -> dict[str, float]:
    return {key: value.item() for key, value in outcome.losses.items()}


def test_the_same_seed_gives_the_same_loss(name: str, host: str) -> None:
    found = []
    for _ in range(2):
        objective = objective_of(name, host)
        found.append([losses(one_step(objective, host, step=s, seed=s)[1]) for s in (50, 51, 52)])
    assert found[0] == found[1]


def test_memory_round_trips(name: str, host: str) -> None:
    objective = objective_of(name, host)
    for step in (50, 51, 52):
        one_step(objective, host, step=step, seed=step)
    again = objective_of(name, host)
    again.load_state_dict(copy.deepcopy(objective.state_dict()))
    ours = losses(one_step(objective, host, step=53)[1])
    assert losses(one_step(again, host, step=53)[1]) == ours


def test_works_under_autocast(name: str, host: str) -> None:
    plain = losses(one_step(objective_of(name, host), host)[1])
    cast = losses(one_step(objective_of(name, host, autocast=torch.bfloat16), host)[1])
    # Half precision costs up to three digits of a logit, and shows.
    assert cast != plain
    assert cast == pytest.approx(plain, rel=0.02, abs=5e-5)


def test_a_step_asks_the_device_for_nothing(name: str, host: str) -> None:
    objective = objective_of(name, host)
    network, batch, clock = toy_network(), batch_for(host), toy_clock()
    with no_synchronisation():
        objective(network, batch, clock).total().backward()


@pytest.mark.parametrize(
    "entry", [e for e in NAMED.values() if e.neutral is not None], ids=lambda e: e.name
)
def test_zero_strength_equals_the_baseline(entry: Entry, host: str) -> None:
    facts = toy_facts(unlabeled=0) if host == "supervised" else toy_facts()
    try:
        calm = HOSTS[host](combine([make("calibrator", entry.name, entry.neutral, facts)]))
    except BadInput as error:
        pytest.skip(str(error))
    ours, outcome = one_step(calm, host)
    theirs, baseline = one_step(HOSTS[host](Calibrator()), host)
    outcome.total().backward()
    baseline.total().backward()
    assert outcome.total().item() == pytest.approx(baseline.total().item(), abs=1e-6)
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(a.grad, b.grad, atol=1e-6)
    # No pass of its own either: it would move the statistics of batch norms.
    for a, b in zip(ours.buffers(), theirs.buffers(), strict=True):
        assert torch.equal(a, b)


def test_composes_with_label_smoothing(name: str, host: str) -> None:
    if name.startswith("label-smoothing"):
        return
    facts = toy_facts(unlabeled=0) if host == "supervised" else toy_facts()
    smoothing = make("calibrator", "label-smoothing", {}, facts)
    try:
        objective = HOSTS[host](combine([MAKERS[name](facts), smoothing]))
    except BadInput as error:
        pytest.skip(str(error))
    assert torch.isfinite(one_step(objective, host)[1].total())
