"""CalibrateMix for loops of one's own: against the same method within a step of mixcal's own, and
by its promise to run the same few operations whatever the number of rows.
"""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from mixcal.core.errors import BadInput
from mixcal.core.protocols import combine
from mixcal.core.step import Passes, StepOutput
from mixcal.methods.algorithms.fixmatch import fixmatch
from mixcal.methods.calibrators.calibratemix import calibratemix
from mixcal.methods.mixing.calibrate_mix import CalibrateMix, MixedBatch, _hard
from mixcal.methods.mixing.guided import Guide
from mixcal.methods.objectives.semi_supervised import SemiSupervised
from mixcal.methods.objectives.supervised import Supervised
from tests.support.no_sync import no_synchronisation
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network

CLASSES = toy_facts().classes


def plain(**knobs) -> CalibrateMix:
    facts = toy_facts()
    return CalibrateMix(
        classes=CLASSES,
        labeled=facts.labeled,
        unlabeled=facts.unlabeled,
        **({"warmup_steps": 0} | knobs),
    )


def mixed_by(mix: CalibrateMix, step: int = 50, rows: tuple[int, int] = (8, 20)) -> MixedBatch:
    batch, network = toy_batch(*rows, seed=step), toy_network()
    labeled, weak = batch.labeled, batch.unlabeled.weak
    return mix.step(
        step,
        labeled=(labeled.inputs, labeled.targets, labeled.index, network(labeled.inputs).logits),
        unlabeled=(weak.inputs, weak.index, network(weak.inputs).logits),
        generator=toy_clock(step).generator,
    )


def test_it_mixes_what_the_calibrator_mixes() -> None:
    mix = plain()
    objective = SemiSupervised(
        fixmatch(toy_facts()), combine([calibratemix(toy_facts(), warmup_steps=0)])
    )
    for moment in (50, 51, 52):
        ours = mixed_by(mix, moment)
        batch, network = toy_batch(8, 20, seed=moment), toy_network()
        step = StepOutput(batch=batch, forward=Passes(network))
        step = step.run(batch.unlabeled.weak, grad=False).run(batch.labeled)
        step = objective._with_pseudo(step, batch.unlabeled)
        theirs = objective.calibrator.mixer(step, toy_clock(moment))
        assert torch.allclose(ours.inputs, theirs.rows.inputs, atol=1e-6)
        assert torch.allclose(ours.targets, theirs.rows.targets, atol=1e-6)
        assert torch.equal(ours.weights, theirs.loss_weight)
    for name, ledger in objective.calibrator.ledgers.items():
        alone = mix.labeled_ledger if name == "labeled" else mix.unlabeled_ledger
        for one, other in zip(alone.summary(), ledger.summary(), strict=True):
            assert torch.allclose(one.float(), other.float(), atol=1e-5)


def test_the_warm_up_gathers_margins_and_mixes_nothing() -> None:
    mix = plain(warmup_steps=51)
    assert mixed_by(mix, 50) is None
    assert int(mix.unlabeled_ledger.summary()[2].sum()) > 0
    assert mixed_by(mix, 51) is not None


def test_weights_make_a_mean_of_the_losses() -> None:
    mixed = mixed_by(plain())
    assert mixed.weights.sum().item() == len(mixed.inputs)
    loss = (F.cross_entropy(torch.zeros(8, CLASSES), mixed.targets, reduction="none")).mean()
    assert torch.isfinite(loss)


def given(rows: tuple[int, int] = (8, 20), seed: int = 50) -> tuple[tuple, tuple]:
    """The labeled and the unlabeled rows of a step, as a loop of one's own has them."""
    batch, network = toy_batch(*rows, seed=seed), toy_network()
    labeled, weak = batch.labeled, batch.unlabeled.weak
    return (
        (labeled.inputs, labeled.targets, labeled.index, network(labeled.inputs).logits),
        (weak.inputs, weak.index, network(weak.inputs).logits),
    )


def test_the_host_weighs_its_rows() -> None:
    mix, (labeled, unlabeled) = plain(weight_by_host=True, guide=Guide(gamma=0.0)), given()
    weights = torch.rand(20)
    mixed = mix.step(
        50,
        labeled=labeled,
        unlabeled=unlabeled,
        generator=toy_clock().generator,
        host_weights=weights,
    )
    # γ = 0: a mixed row is its second member.
    same = (mixed.inputs.flatten(1)[:, None] == unlabeled[0].flatten(1)).all(2)
    assert same.sum(1).tolist() == [1] * 8
    assert torch.allclose(mixed.weights, weights[same.long().argmax(1)])
    with pytest.raises(BadInput, match="host_weights"):
        mix.step(51, labeled=labeled, unlabeled=unlabeled, generator=toy_clock().generator)


def test_without_unlabeled_rows_labeled_ones_meet_each_other() -> None:
    mix = CalibrateMix(classes=CLASSES, labeled=16, warmup_steps=0)
    objective = Supervised(combine([calibratemix(toy_facts(unlabeled=0), warmup_steps=0)]))
    batch, (labeled, unlabeled) = toy_batch(8, 20, seed=50), given()
    ours = mix.step(50, labeled=labeled, generator=toy_clock().generator)
    step = StepOutput(batch=replace(batch, unlabeled=None), forward=Passes(toy_network()))
    theirs = objective.calibrator.mixer(step.run(batch.labeled), toy_clock())
    assert torch.allclose(ours.inputs, theirs.rows.inputs, atol=1e-6)
    assert torch.equal(ours.weights, theirs.loss_weight)
    with pytest.raises(BadInput, match="no unlabeled samples"):
        mix.step(51, labeled=labeled, unlabeled=unlabeled, generator=toy_clock().generator)


def test_features_may_say_who_is_dissimilar() -> None:
    labeled, unlabeled = given()
    # The even rows are the most dissimilar, and among them the first of the other difficulty.
    features = (torch.ones(8, 2), torch.ones(20, 2))
    features[1][::2] = -1

    def seconds(**more) -> list[int]:
        mixed = plain(guide=Guide(k=1, gamma=0.0)).step(
            50, labeled=labeled, unlabeled=unlabeled, generator=toy_clock().generator, **more
        )
        same = (mixed.inputs.flatten(1)[:, None] == unlabeled[0].flatten(1)).all(2)
        return same.long().argmax(1).tolist()

    assert all(second % 2 == 0 for second in seconds(features=features))
    assert any(second % 2 for second in seconds())


@pytest.mark.parametrize("warmup", [0, 5])
def test_the_pool_s_median_is_over_all_samples_seen(warmup: int) -> None:
    mix = plain(pool_median=True, warmup_steps=warmup)
    latest: dict[int, int] = {}
    for step in range(warmup + 1):
        labeled, unlabeled = given(seed=step)
        mix.step(step, labeled=labeled, unlabeled=unlabeled, generator=toy_clock(step).generator)
        latest |= dict(zip(unlabeled[1].tolist(), unlabeled[2].argmax(1).tolist(), strict=True))
    # Of a sample that occurs twice in a batch either row's pseudo-label may be the last.
    assert sorted(mix.latest.isnan().logical_not().nonzero()[:, 0].tolist()) == sorted(latest)
    side = mix.unlabeled_side(*_hard(*unlabeled, None), unlabeled[0].flatten(1))
    assert side.threshold.item() == mix.latest[list(latest)].median().item()


def test_the_pool_s_median_skips_a_warm_up_without_margins() -> None:
    mix = plain(pool_median=True, warmup_steps=5, pseudo_margins_in_warmup=False)
    labeled, unlabeled = given()
    mix.step(4, labeled=labeled, unlabeled=unlabeled, generator=toy_clock(4).generator)
    assert bool(mix.latest.isnan().all())


class Counting(TorchDispatchMode):
    """How many operations run."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


def operations(rows: tuple[int, int]) -> int:
    mix, counting, batch, network = plain(), Counting(), toy_batch(*rows), toy_network()
    labeled, weak = batch.labeled, batch.unlabeled.weak
    logits, guesses = network(labeled.inputs).logits, network(weak.inputs).logits
    generator = toy_clock().generator
    with no_synchronisation(), counting:
        mix.step(
            50,
            labeled=(labeled.inputs, labeled.targets, labeled.index, logits),
            unlabeled=(weak.inputs, weak.index, guesses),
            generator=generator,
        )
    return counting.count


def test_no_loop_over_samples() -> None:
    assert operations((8, 20)) == operations((64, 160))
