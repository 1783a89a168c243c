"""CalibrateMix for loops of one's own: against the same method within a step of mixcal's own, and
by its promise to run the same few operations whatever the number of rows.
"""

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from mixcal.core.protocols import combine
from mixcal.core.step import Passes, StepOutput
from mixcal.methods.algorithms.fixmatch import fixmatch
from mixcal.methods.calibrators.calibratemix import calibratemix
from mixcal.methods.mixing.calibrate_mix import CalibrateMix, MixedBatch
from mixcal.methods.objectives.semi_supervised import SemiSupervised
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
