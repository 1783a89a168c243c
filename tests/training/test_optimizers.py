"""Optimizers: which parameters decay, which move slower, and one SGD step by hand."""

import pytest
import torch
from torch import nn

from mixcal.training.optimizers import cap_norms, make_optimizer, set_learning_rate
from mixcal.training.options import OptimizerOptions
from tests.support.toy import toy_network


def decayed(options: OptimizerOptions) -> set[str]:
    network = toy_network()
    names = {id(parameter): name for name, parameter in network.named_parameters()}
    optimizer = make_optimizer(options, network)
    return {
        names[id(parameter)]
        for group in optimizer.param_groups
        if group["weight_decay"]
        for parameter in group["params"]
    }


def test_decay_spares_biases_and_norms_or_nothing() -> None:
    assert decayed(OptimizerOptions()) == {"conv.weight", "middle.weight", "head.weight"}
    assert "norm.bias" in decayed(OptimizerOptions(decay="all"))
    assert not decayed(OptimizerOptions(weight_decay=0.0))


@pytest.mark.parametrize("name", ["sgd", "adam", "adamw", "adadelta"])
def test_every_optimizer_moves_every_parameter(name: str) -> None:
    network = toy_network()
    before = [p.clone() for p in network.parameters()]
    optimizer = make_optimizer(OptimizerOptions(name=name), network)
    set_learning_rate(optimizer, 0.1)
    network(torch.randn(4, 1, 6, 6)).logits.square().mean().backward()
    optimizer.step()
    moved = [not torch.equal(a, b) for a, b in zip(before, network.parameters(), strict=True)]
    # The convolution's bias has no gradient under a batch norm, but for rounding.
    assert sum(moved) >= len(moved) - 1


def test_nesterov_by_hand() -> None:
    layer = nn.Linear(1, 1, bias=False)
    nn.init.constant_(layer.weight, 2.0)
    optimizer = make_optimizer(OptimizerOptions(weight_decay=0.1), layer)
    set_learning_rate(optimizer, 0.5)
    layer.weight.grad = torch.tensor([[1.0]])
    optimizer.step()
    # g = 1 + 0.1·2 = 1.2; v = 1.2; step = g + 0.9 v = 2.28; w = 2 − 0.5·2.28
    assert layer.weight.item() == pytest.approx(0.86)


def test_the_body_may_move_slower_than_the_head() -> None:
    network = toy_network()
    optimizer = make_optimizer(OptimizerOptions(body_rate_factor=0.1), network, network.head)
    set_learning_rate(optimizer, 0.01)
    rates = {group["lr"]: {id(p) for p in group["params"]} for group in optimizer.param_groups}
    assert set(rates) == {0.01, 0.001}
    assert id(network.head.weight) in {
        key
        for group in optimizer.param_groups
        if group["lr"] == 0.01
        for key in map(id, group["params"])
    }


def test_capped_norms_by_hand() -> None:
    weight = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    cap_norms([weight], 3.0)
    assert weight.tolist() == [pytest.approx([1.8, 2.4]), pytest.approx([0.3, 0.4])]
