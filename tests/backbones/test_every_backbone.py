"""Every backbone of the catalog against what all promise: shapes, layouts, seeds, stages."""

import copy
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mixcal import catalog
from mixcal.core.activations import Activations, Backbone, Between
from mixcal.core.errors import BadInput

CLASSES = 5


@dataclass(frozen=True)
class Case:
    """A backbone at a size at which a test is quick."""

    name: str
    entry: str
    knobs: dict[str, Any] = field(default_factory=dict)
    channels: int = 3
    size: int = 16
    # Parameters that are there for published files only.
    dead: tuple[str, ...] = ()
    # What bf16 may change, relative; deep networks with random weights amplify every error.
    rounding: float = 0.1

    def __str__(self) -> str:
        return f"{self.name}{self.knobs or ''}".replace("'", "")

    def __hash__(self) -> int:
        return hash(str(self))


SWIN = {"patch": 2, "width": 12, "depths": [1, 2], "heads": [2, 3], "window": 4}
CASES = (
    Case("small", "small", channels=1, size=8, dead=("groups.1.0.norm1", "groups.2.0.norm1")),
    Case("wrn-16-1", "wrn", dead=("groups.1.0.norm1", "groups.2.0.norm1")),
    Case("wrn-16-1", "wrn", {"wiring": "paper"}),
    Case("wrn-14-1", "wrn"),
    Case("wrn-37-2", "wrn-37-2", dead=tuple(f"groups.{n}.0.norm1" for n in (1, 2, 3))),
    Case("resnet-18", "resnet"),
    Case("resnet-18", "resnet", {"stem": "imagenet", "pooled": 2}, size=64),
    Case("resnet-50", "resnet", rounding=0.5),
    Case("resnet-32", "resnet-32"),
    Case("preact-resnet-18", "preact-resnet"),
    Case("vgg-16", "vgg-16"),
    Case("densenet-121", "densenet-121"),
    Case("mobilenet-v2", "mobilenet-v2", rounding=0.3),
    Case("swin-v2", "swin-v2", SWIN),
    pytest.param(
        Case("resnext-101", "resnext-101", {"stem": "small"}, rounding=0.8),
        marks=pytest.mark.slow,
    ),
)
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def built(case: Case, seed: int = 0, **knobs: Any) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        sizes = {"channels": case.channels, "size": case.size}
        return catalog.make("backbone", case.name, {**case.knobs, **knobs}, CLASSES, **sizes)


@cache
def _kept(case: Case) -> nn.Module:
    network = built(case)
    # Statistics of real activations: with those of the start deep networks vanish or explode.
    for norm in network.modules():
        if isinstance(norm, nn.BatchNorm2d):
            norm.momentum = 1.0
    network.train()
    with torch.no_grad():
        network(pictures(case, n=32, seed=1))
    return network.eval()


def settled(case: Case) -> nn.Module:
    """A copy of a network whose batch norms have seen data, in evaluation mode."""
    return copy.deepcopy(_kept(case))


def pictures(case: Case, n: int = 4, *, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, case.channels, case.size, case.size, generator=generator)


def close(ours: Tensor, theirs: Tensor, tolerance: float) -> bool:
    return bool((ours - theirs).abs().max() <= tolerance * theirs.abs().max())


def test_every_entry_is_here() -> None:
    tested = {(case.values[0] if isinstance(case, type(CASES[-1])) else case) for case in CASES}
    entries = {entry.name for entry in catalog.ENTRIES if entry.kind == "backbone"}
    # Texts are no pictures: the sentence network has tests of its own.
    assert {case.entry for case in tested} == entries - {"foreign", "sentence-cnn"}


@every_case
def test_answers_logits_that_are_the_head_of_its_features(case: Case) -> None:
    network = settled(case)
    answer = network(pictures(case))
    assert isinstance(network, Backbone)
    assert isinstance(answer, Activations)
    assert answer.logits.shape == (4, CLASSES)
    assert answer.features.shape == (4, network.feature_width)
    torch.testing.assert_close(network.head(answer.features), answer.logits)


@every_case
def test_under_autocast_the_answer_is_float32_and_nearly_the_same(case: Case) -> None:
    network = settled(case)
    exact = network(pictures(case))
    with torch.autocast("cpu", torch.bfloat16):
        rounded = network(pictures(case))
    assert rounded.logits.dtype == rounded.features.dtype == torch.float32
    assert (rounded.logits - exact.logits).norm() < case.rounding * exact.logits.norm()
    assert not torch.equal(rounded.logits, exact.logits)


@every_case
def test_channels_last_changes_rounding_only(case: Case) -> None:
    network, inputs = settled(case), pictures(case)
    plain = network(inputs).logits
    plain.square().sum().backward()
    other = settled(case).to(memory_format=torch.channels_last)
    last = other(inputs.contiguous(memory_format=torch.channels_last)).logits
    last.square().sum().backward()
    assert close(last, plain, 1e-4)
    assert close(other.head.weight.grad, network.head.weight.grad, 1e-4)


@every_case
def test_weights_follow_from_the_seed(case: Case) -> None:
    first, again, other = (built(case, seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(tensor, again[name]) for name, tensor in first.items())
    assert not torch.equal(first["head.weight"], other["head.weight"])


@every_case
def test_state_round_trips(case: Case) -> None:
    network, fresh = settled(case), built(case, seed=9).eval()
    assert not torch.equal(fresh(pictures(case)).logits, network(pictures(case)).logits)
    fresh.load_state_dict(network.state_dict())
    assert torch.equal(fresh(pictures(case)).logits, network(pictures(case)).logits)


@every_case
def test_dropout_is_active_in_training_only(case: Case) -> None:
    # Swin-V2 drops whole paths too, unless told not to.
    still = {"path_dropout": 0.0} if case.entry == "swin-v2" else {}
    dropping, network = built(case, dropout=0.5, **still), built(case, dropout=0.0, **still)
    inputs = pictures(case, n=8)
    assert torch.equal(network(inputs).logits, network(inputs).logits)
    assert not torch.equal(dropping(inputs).logits, dropping(inputs).logits)
    network.eval()
    dropping.load_state_dict(network.state_dict())
    dropping.eval()
    assert torch.equal(dropping(inputs).logits, network(inputs).logits)
    for module in dropping.modules():
        # What Monte Carlo dropout does.
        if isinstance(module, nn.Dropout):
            module.train()
    assert not torch.equal(dropping(inputs).logits, dropping(inputs).logits)


@every_case
def test_every_parameter_gets_a_gradient_but_the_documented_ones(case: Case) -> None:
    network = built(case).train()
    targets = torch.arange(8) % CLASSES
    nn.functional.cross_entropy(network(pictures(case, n=8)).logits, targets).backward()
    without = {name for name, p in network.named_parameters() if p.grad is None}
    assert without == {f"{dead}.{part}" for dead in case.dead for part in ("weight", "bias")}
    assert without == {name for name, p in network.named_parameters() if not p.requires_grad}


@every_case
def test_a_blend_at_each_stage_changes_the_answer_and_reaches_both_members(case: Case) -> None:
    network, seen = settled(case), []
    plain = network(pictures(case)).logits

    def blend(hidden: Tensor) -> Tensor:
        seen.append(hidden.shape)
        return 0.7 * hidden + 0.3 * hidden.flip(0)

    answers = []
    for stage in network.stages:
        inputs = pictures(case).requires_grad_()
        answer = network(inputs, between=Between(stage, blend)).logits
        answers.append(answer)
        assert not close(answer, plain, 1e-3), stage
        answer[0].square().sum().backward()
        reached = inputs.grad.flatten(1).abs().sum(1) > 0
        # Row 0 is blended with row 3; in evaluation mode nothing else joins rows.
        assert reached.tolist() == [True, False, False, True], stage
    assert len(seen) == len(network.stages) == len(set(network.stages))
    assert network.stages[0] == "input"
    for place, answer in enumerate(answers[1:]):
        assert not torch.allclose(answer, answers[place]), network.stages[place]


@every_case
def test_a_stage_nobody_knows_is_an_error(case: Case) -> None:
    with pytest.raises(BadInput, match=r"no stage 'group9'.*group1"):
        settled(case)(pictures(case), between=Between("group9", lambda hidden: hidden))
