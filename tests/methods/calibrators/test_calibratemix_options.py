"""CalibrateMix's knobs: what contradicts itself, means nothing or does nothing is refused."""

from dataclasses import replace

import pytest
import torch

from mixcal.catalog import make
from mixcal.core.errors import BadInput
from mixcal.core.protocols import Calibrator, combine
from mixcal.methods.algorithms.fixmatch import fixmatch
from mixcal.methods.calibrators.calibratemix import calibratemix
from mixcal.methods.objectives.semi_supervised import SemiSupervised
from mixcal.methods.objectives.supervised import Supervised
from tests.support.toy import toy_facts


def test_what_needs_another_weak_branch_or_unlabeled_rows_says_so() -> None:
    def made(knobs: dict, **facts: int) -> Calibrator:
        return combine([calibratemix(toy_facts(**facts), **knobs)])

    official, early = {"preset": "official", "warmup_steps": 0}, {"mixed_branch": "with_strong"}
    with pytest.raises(BadInput, match=r'passes = "twice".* needs method\.weak_branch = "joint"'):
        SemiSupervised(fixmatch(toy_facts()), made(official), weak_branch="separate")
    with pytest.raises(BadInput, match=r'"with_strong" needs method\.weak_branch = "separate"'):
        SemiSupervised(fixmatch(toy_facts()), made(early), weak_branch="joint")
    for knobs, named in ((official, "passes"), (early, "mixed_branch")):
        with pytest.raises(BadInput, match=rf"^{named} .*set method\.algorithm"):
            Supervised(made(knobs, unlabeled=0))


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"warmup_steps": 3, "warmup_fraction": 0.1}, "not both"),
        ({"space": "features", "mixed_branch": "with_strong"}, 'mixed_branch = "own"'),
        ({"store": "mapped"}, "folder"),
        ({"first_visit": 1, "average": "mean"}, 'first_visit is only of average = "decayed"'),
        ({"delta": 0.9, "average": "constant"}, "delta is only of"),
        ({"rate": 0.2}, 'rate is only of average = "constant"'),
        ({"preset": "official", "mixed_branch": "own"}, "leave one of them out"),
        ({"passes": "twice", "mixed_branch": "with_strong"}, "leave one of them out"),
    ],
)
def test_contradictions_are_named(knobs: dict, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        calibratemix(toy_facts(), **knobs)


@pytest.mark.parametrize(
    "knobs",
    [
        {"k": -1.0},
        {"k": float("nan")},
        {"k": float("inf")},
        {"k": 1.5},
        {"gamma": 2.0},
        {"gamma": -0.1},
        {"alpha": -1.0},
        {"warmup_steps": -5},
        {"warmup_fraction": 5.0},
        {"mix_weight": float("nan")},
        {"delta": 7.0},
        {"rate": -0.1},
        {"rate": 0.0},
        {"alpha": 0.0},
        {"alpha": float("nan")},
    ],
)
def test_numbers_that_mean_nothing_are_refused(knobs: dict[str, float]) -> None:
    ((name, _),) = knobs.items()
    with pytest.raises(BadInput, match=rf"calibratemix'?: {name} is .*\.$"):
        make("calibrator", "calibratemix", knobs, toy_facts())


def test_the_rate_of_constant_averaging_is_a_knob() -> None:
    mix = calibratemix(toy_facts(), average="constant", rate=0.25).mixer.mix
    here = torch.tensor([3])
    for logits in ([[4.0, 0, 0, 0]], [[0.0, 0, 0, 0]]):
        mix.remember_unlabeled(torch.tensor(logits), here, 0)
    assert mix.unlabeled_ledger.read(here, torch.tensor([0])).item() == pytest.approx(3.0)


def test_texts_are_refused() -> None:
    with pytest.raises(BadInput, match="works on pixels"):
        calibratemix(replace(toy_facts(), input_kind="text"))
