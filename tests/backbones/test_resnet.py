"""Residual networks against published parameter counts and by hand."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from mixcal.backbones.resnet import Padding, resnet, resnet_32, resnext_101


def parameters(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


@pytest.mark.parametrize(
    ("depth", "published"),
    [(18, 11_689_512), (34, 21_797_672), (50, 25_557_032), (101, 44_549_160)],
)
def test_parameter_counts_for_imagenet(depth: int, published: int) -> None:
    with torch.device("meta"):
        assert parameters(resnet(1000, depth=depth, stem="imagenet")) == published


def test_parameter_counts_for_small_images() -> None:
    with torch.device("meta"):
        assert parameters(resnet(10)) == 11_173_962
        assert parameters(resnet(10, depth=50)) == 23_520_842
        assert parameters(resnet_32(10)) == 464_154
        assert parameters(resnext_101(1000)) == 44_177_704


def test_the_variant_for_tiny_imagenet_pools_to_two_by_two() -> None:
    with torch.device("meta"):
        network = resnet(200, depth=50, pooled=2)
        assert network.head.in_features == network.feature_width == 8192
        assert network(torch.empty(2, 3, 64, 64)).features.shape == (2, 8192)


@pytest.mark.parametrize(
    ("stem", "channels", "size", "last"),
    [("small", 1, 8, 1), ("small", 1, 28, 4), ("small", 3, 32, 4), ("imagenet", 3, 224, 7)],
)
def test_sizes(stem: str, channels: int, size: int, last: int) -> None:
    with torch.device("meta"):
        network = resnet(10, channels=channels, stem=stem)
        seen = []
        network.layer4.register_forward_hook(lambda _, __, out: seen.append(out.shape))
        assert network(torch.empty(2, channels, size, size)).logits.shape == (2, 10)
    assert seen == [(2, 512, last, last)]


def test_a_block_by_hand() -> None:
    torch.manual_seed(0)
    block = resnet(10, depth=50).layer2[0].eval()
    inputs = torch.randn(2, 256, 8, 8)
    hidden = F.relu(block.bn1(F.conv2d(inputs, block.conv1.weight)))
    hidden = F.relu(block.bn2(F.conv2d(hidden, block.conv2.weight, stride=2, padding=1)))
    hidden = block.bn3(F.conv2d(hidden, block.conv3.weight))
    beside = block.downsample[1](F.conv2d(inputs, block.downsample[0].weight, stride=2))
    torch.testing.assert_close(block(inputs), F.relu(hidden + beside))


def test_a_shortcut_without_parameters_by_hand() -> None:
    inputs = torch.arange(2 * 16.0).view(1, 2, 4, 4)
    beside = Padding(2, 4, 2)(inputs)
    assert beside.shape == (1, 4, 2, 2)
    assert beside[0, 0].tolist() == beside[0, 3].tolist() == [[0, 0], [0, 0]]
    assert beside[0, 1].tolist() == [[0, 2], [8, 10]]
    assert beside[0, 2].tolist() == [[16, 18], [24, 26]]


def test_initialization_follows_the_stem_unless_told_otherwise() -> None:
    torch.manual_seed(0)
    fan_in, fan_out = 9 * 256, 9 * 512
    usual = resnet(10).layer4[0].conv1.weight
    assert usual.abs().max() <= fan_in**-0.5
    assert usual.std().item() == pytest.approx((3 * fan_in) ** -0.5, rel=0.01)
    for network in (
        resnet(10, stem="imagenet"),
        resnet(10, pooled=2),
        resnet(10, initialization="he"),
    ):
        weight = network.layer4[0].conv1.weight
        assert weight.std().item() == pytest.approx((2 / fan_out) ** 0.5, rel=0.01)
    glorot = resnet(10, initialization="glorot").layer4[0].conv1.weight
    assert glorot.std().item() == pytest.approx(2 / (fan_in + fan_out) ** 0.5, rel=0.01)
    long_tailed = resnet_32(10)
    first = long_tailed.layer3[0].conv1.weight
    assert first.std().item() == pytest.approx((2 / (9 * 32)) ** 0.5, rel=0.03)
    assert long_tailed.head.weight.std().item() == pytest.approx((2 / 64) ** 0.5, rel=0.1)
