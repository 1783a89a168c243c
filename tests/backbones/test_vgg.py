"""VGG-16 with batch norm against its published parameter count and by hand."""

import pytest
import torch
from torch import nn

from mixcal.backbones.vgg import vgg_16


def test_parameter_count() -> None:
    with torch.device("meta"):
        network = vgg_16(10)
    assert sum(parameter.numel() for parameter in network.parameters()) == 14_728_266
    assert sum(isinstance(layer, nn.Conv2d) for layer in network.features) == 13


@pytest.mark.parametrize(
    ("channels", "size", "last"), [(1, 8, 1), (1, 28, 1), (3, 32, 1), (3, 64, 2), (3, 96, 3)]
)
def test_sizes(channels: int, size: int, last: int) -> None:
    with torch.device("meta"):
        network = vgg_16(10, channels=channels)
        inputs = torch.empty(2, channels, size, size)
        assert network.features(inputs).shape == (2, 512, last, last)
        assert network(inputs).logits.shape == (2, 10)


def test_dropout_follows_every_activation() -> None:
    network = vgg_16(10, dropout=0.5)
    calls = []
    network.dropout.register_forward_hook(lambda _, given, __: calls.append(given[0]))
    network(torch.randn(2, 3, 32, 32))
    assert [hidden.shape[1] for hidden in calls] == [64] * 2 + [128] * 2 + [256] * 3 + [512] * 6
    assert all((hidden >= 0).all() for hidden in calls)


def test_initialization_is_uniform_with_the_gain_of_a_relu() -> None:
    torch.manual_seed(0)
    layer = vgg_16(10).features[40]
    bound = 2**0.5 * (6 / (9 * 512 + 9 * 512)) ** 0.5
    assert layer.weight.abs().max().item() == pytest.approx(bound, rel=0.01)
    assert layer.weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.01)
    assert layer.bias.abs().sum() == 0
