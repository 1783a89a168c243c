"""Initial weights against the variances of their formulas."""

import pytest
import torch
from torch import nn

from mixcal.backbones.initialization import convolutions, initialize


def network() -> nn.Sequential:
    torch.manual_seed(0)
    wide = nn.Conv2d(64, 256, 3)
    return nn.Sequential(wide, nn.BatchNorm2d(256), nn.Conv2d(256, 128, 1), nn.Linear(8, 8))


def test_torch_leaves_everything_as_it_is() -> None:
    before, after = network(), network()
    initialize(after, "torch")
    for name, tensor in before.state_dict().items():
        assert torch.equal(tensor, after.state_dict()[name])


@pytest.mark.parametrize(
    ("kind", "fan", "variance"),
    [
        ("he", "fan_out", 2 / (9 * 256)),
        ("he", "fan_in", 2 / (9 * 64)),
        ("glorot", "fan_out", 2 * 2 / (9 * 64 + 9 * 256)),
    ],
)
def test_variances(kind: str, fan: str, variance: float) -> None:
    started, before = network(), network()
    initialize(started, kind, fan)
    assert started[0].weight.var().item() == pytest.approx(variance, rel=0.02)
    assert started[0].bias.abs().sum() == started[2].bias.abs().sum() == 0
    assert torch.equal(started[3].weight, before[3].weight)
    assert torch.equal(started[1].weight, torch.ones(256))
    normal = started[0].weight.abs().max() > 2 * variance**0.5
    assert normal == (kind == "he")


def test_convolutions_come_in_order() -> None:
    assert [layer.out_channels for layer in convolutions(network())] == [256, 128]
