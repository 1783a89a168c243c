"""Residual networks with activation before convolution against published counts and by hand."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from mixcal.backbones.preact_resnet import PUBLISHED_NAMES, preact_resnet
from mixcal.backbones.weights import with_tensors


def parameters(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def test_parameter_counts() -> None:
    with torch.device("meta"):
        assert parameters(preact_resnet(10, last_norm=False)) == 11_171_146
        # The last batch norm of the paper: 512 scales and 512 shifts.
        assert parameters(preact_resnet(10)) == 11_171_146 + 1024
        deeper = parameters(preact_resnet(10, depth=34, last_norm=False))
    # One, two, four and one blocks more of two convolutions and two norms.
    more = sum(n * (18 * w * w + 4 * w) for n, w in ((1, 64), (2, 128), (4, 256), (1, 512)))
    assert deeper == 11_171_146 + more


def test_a_block_by_hand() -> None:
    torch.manual_seed(0)
    network = preact_resnet(10).eval()
    block, inputs = network.layer2[0], torch.randn(2, 64, 8, 8)
    first = F.relu(block.bn1(inputs))
    second = F.relu(block.bn2(F.conv2d(first, block.conv1.weight, stride=2, padding=1)))
    hidden = F.conv2d(second, block.conv2.weight, padding=1)
    beside = F.conv2d(first, block.shortcut.weight, stride=2)
    torch.testing.assert_close(block(inputs), hidden + beside)
    same, inputs = network.layer2[1], torch.randn(2, 128, 4, 4)
    hidden = F.relu(same.bn2(same.conv1(F.relu(same.bn1(inputs)))))
    torch.testing.assert_close(same(inputs), same.conv2(hidden) + inputs)


def test_the_last_norm_stands_before_the_pooling() -> None:
    network = preact_resnet(10).eval()
    inputs = torch.randn(2, 3, 32, 32)
    last = network.layer4(network.layer3(network.layer2(network.layer1(network.conv1(inputs)))))
    features = F.relu(network.bn(last)).mean((2, 3))
    torch.testing.assert_close(network(inputs).features, features)
    bare = with_tensors(
        preact_resnet(10, last_norm=False),
        {k: v for k, v in network.state_dict().items() if not k.startswith("bn.")},
        PUBLISHED_NAMES,
        where="the other",
    ).eval()
    torch.testing.assert_close(bare(inputs).features, last.mean((2, 3)))


@pytest.mark.parametrize(("channels", "size"), [(1, 8), (1, 28), (3, 32), (3, 64)])
def test_sizes(channels: int, size: int) -> None:
    with torch.device("meta"):
        network = preact_resnet(10, channels=channels)
        assert network(torch.empty(2, channels, size, size)).logits.shape == (2, 10)
