"""Calibrators that are a loss and nothing else: the parts they stand in, their defaults against
the published ones, and the step's loss against the function's mean."""

from typing import Any

import pytest
import torch

from mixcal import losses
from mixcal.catalog import ENTRIES, make
from mixcal.core.protocols import combine
from mixcal.methods.algorithms.fixmatch import fixmatch
from mixcal.methods.objectives.semi_supervised import SemiSupervised
from mixcal.methods.objectives.supervised import Supervised
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network

# The function behind each name, and the published knobs.
KNOWN: dict[str, tuple[str, dict[str, Any]]] = {
    "entropy-penalty": ("entropy_penalty", {"beta": 0.1, "entropy_reduction": "sum"}),
    "mbls": ("margin_label_smoothing", {"margin": 10.0, "alpha": 0.1}),
    "focal": ("focal", {"gamma": 3.0}),
    "dual-focal": ("dual_focal", {"gamma": 5.0}),
    "inverse-focal": ("inverse_focal", {"gamma": 2.0}),
    "fcl": ("focal_calibration", {"gamma": 3.0, "weight": 0.5}),
    "brier": ("brier", {"reduction": "sum"}),
    "cpc": ("pairwise_constraints", {"discrimination_weight": 0.1, "exclusion_weight": 1.0}),
}


@pytest.fixture(params=KNOWN)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def function_of(name: str, **changes: Any) -> Any:
    where, knobs = KNOWN[name]
    return lambda logits, targets: getattr(losses, where)(logits, targets, **(knobs | changes))


def test_the_labeled_loss_is_the_functions_mean(name: str) -> None:
    batch = toy_batch(8)
    objective = Supervised(combine([make("calibrator", name, {}, toy_facts())]))
    found = objective(toy_network(), batch, toy_clock()).losses["labeled"]
    expected = function_of(name)(toy_network()(batch.labeled.inputs).logits, batch.labeled.targets)
    assert found.item() == pytest.approx(expected.mean().item(), abs=1e-6)


def test_mixed_rows_get_it_with_their_soft_targets(name: str) -> None:
    facts = toy_facts()
    whole = combine([make("calibrator", name, {}, facts), make("calibrator", "mixup", {}, facts)])
    seen = []
    plain = whole.criteria["mixed"]
    whole.criteria["mixed"] = lambda z, q: seen.append((z, q)) or plain(z, q)
    outcome = Supervised(whole)(toy_network(), toy_batch(8), toy_clock())
    ((logits, targets),) = seen
    assert ((targets > 0) & (targets < 1)).any()
    expected = function_of(name)(logits, targets).mean()
    assert outcome.losses["mixed"].item() == pytest.approx(expected.item(), abs=1e-6)


def test_unlabeled_rows_get_it_where_named(name: str) -> None:
    facts, batch = toy_facts(), toy_batch()

    def unlabeled(**knobs: Any) -> float:
        near = {"margin": 0.1} if name == "mbls" else {}
        calibrator = combine([make("calibrator", name, near | knobs, facts)])
        objective = SemiSupervised(fixmatch(facts, threshold=0.0), calibrator)
        return objective(toy_network(), batch, toy_clock()).losses["unlabeled"].item()

    plain, ours = unlabeled(parts=["labeled"]), unlabeled(parts=["unlabeled"])
    assert ours != pytest.approx(plain, rel=1e-4)
    by_default = plain if name == "inverse-focal" else ours
    assert unlabeled() == pytest.approx(by_default, abs=1e-7)


def test_every_knob_of_the_entry_is_the_functions(name: str) -> None:
    (entry,) = (e for e in ENTRIES if e.name == name and e.kind == "calibrator")
    knobs = entry.knobs()
    assert {key: knobs[key] for key in KNOWN[name][1]} == KNOWN[name][1]


def test_knobs_reach_the_function(name: str) -> None:
    logits, targets = torch.randn(8, 4) * 5, torch.randn(8, 4).softmax(1)
    for key, value in KNOWN[name][1].items():
        other = "mean_K" if isinstance(value, str) else value / 2
        calibrator = make("calibrator", name, {key: other}, toy_facts())
        found = calibrator.criteria["labeled"](logits, targets)
        assert torch.equal(found, function_of(name, **{key: other})(logits, targets))
        assert not torch.allclose(found, function_of(name)(logits, targets))
