"""The margin memory: remembers what CalibrateMix remembers, and changes nothing."""

import torch

from mixcal.core.protocols import Calibrator, combine
from mixcal.methods.algorithms.fixmatch import fixmatch
from mixcal.methods.calibrators.calibratemix import calibratemix
from mixcal.methods.calibrators.margin_memory import margin_memory
from mixcal.methods.objectives.semi_supervised import SemiSupervised
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network


def objective(calibrator: Calibrator) -> SemiSupervised:
    return SemiSupervised(fixmatch(toy_facts(), threshold=0.3), combine([calibrator]))


def test_it_remembers_what_calibratemix_remembers() -> None:
    ours = objective(margin_memory(toy_facts()))
    theirs = objective(calibratemix(toy_facts(), warmup_fraction=1.0))
    for moment in range(5):
        batch = toy_batch(seed=moment)
        one = ours(toy_network(), batch, toy_clock(moment)).total()
        other = theirs(toy_network(), batch, toy_clock(moment)).total()
        assert one.item() == other.item()
    for split in ("labeled", "unlabeled"):
        pair = (ours.calibrator.ledgers[split], theirs.calibrator.ledgers[split])
        for a, b in zip(*(ledger.summary() for ledger in pair), strict=True):
            assert torch.equal(a, b)
