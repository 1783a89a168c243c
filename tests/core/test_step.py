"""Passes against plain calls of the network: same logits, batch norms moved or left alone."""

import pytest
import torch
from torch import nn

from mixcal.core.activations import Activations, Between
from mixcal.core.rows import Rows
from mixcal.core.step import Passes


class Tiny(nn.Module):
    """Batch norm and two linear maps."""

    stages = ("input", "hidden")

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.middle = nn.Linear(4, 5)
        self.head = nn.Linear(5, 3)

    def forward(self, inputs: torch.Tensor, between: Between | None = None) -> Activations:
        hidden = self.middle(self.norm(inputs))
        if between is not None:
            hidden = between.blend(hidden)
        return Activations(self.head(hidden), hidden)


def rows(n: int, part: str) -> Rows:
    return Rows(
        inputs=torch.randn(n, 4), targets=torch.zeros(n, 3), index=torch.arange(n), part=part
    )


def test_parts_of_one_pass_share_a_batch_norm_batch() -> None:
    network = Tiny()
    passes = Passes(network)
    one, two = rows(6, "labeled"), rows(3, "strong")
    found = passes(one, two)
    alone = network(torch.cat([one.inputs, two.inputs])).logits
    assert torch.equal(torch.cat([found["labeled"].logits, found["strong"].logits]), alone)
    assert (passes.count, passes.images) == (1, 9)


def test_statistics_move_unless_told_not_to() -> None:
    network = Tiny()
    before = network.norm.running_mean.clone()
    answer = Passes(network)(rows(6, "labeled"), statistics=False)
    assert torch.equal(before, network.norm.running_mean)
    assert network.norm.num_batches_tracked == 0
    assert answer["labeled"].logits.requires_grad
    Passes(network)(rows(6, "labeled"))
    assert not torch.equal(before, network.norm.running_mean)


def test_no_gradient_when_told_so() -> None:
    assert not Passes(Tiny())(rows(5, "weak"), grad=False)["weak"].logits.requires_grad


def test_a_change_between_layers_touches_its_part_only() -> None:
    network = Tiny()
    one, two = rows(6, "labeled"), rows(3, "mixed")
    plain = Passes(network)(one, two)
    doubled = Passes(network)(one, two, between=Between("hidden", lambda h: 2 * h))
    assert torch.equal(doubled["labeled"].features, plain["labeled"].features)
    assert torch.equal(doubled["mixed"].features, 2 * plain["mixed"].features)


def test_two_groups_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="same part"):
        Passes(Tiny())(rows(2, "labeled"), rows(2, "labeled"))


def test_activations_are_float32_under_autocast() -> None:
    found = Passes(Tiny(), autocast=torch.bfloat16)(rows(4, "labeled"))["labeled"]
    assert found.logits.dtype == found.features.dtype == torch.float32
