"""DenseNet-121 against published parameter counts and by hand."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from mixcal.backbones.densenet import densenet_121
from mixcal.core.errors import BadInput


def parameters(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def test_parameter_counts() -> None:
    with torch.device("meta"):
        assert parameters(densenet_121(1000, stem="imagenet")) == 7_978_856
        assert parameters(densenet_121(10)) == 6_956_298


def test_layer_and_transition_by_hand() -> None:
    torch.manual_seed(0)
    network = densenet_121(10).eval()
    layer, inputs = network.features.denseblock1.denselayer2, torch.randn(2, 96, 6, 6)
    hidden = F.conv2d(F.relu(layer.norm1(inputs)), layer.conv1.weight)
    hidden = F.conv2d(F.relu(layer.norm2(hidden)), layer.conv2.weight, padding=1)
    torch.testing.assert_close(layer(inputs), torch.cat([inputs, hidden], 1))
    transition, inputs = network.features.transition1, torch.randn(2, 256, 6, 6)
    hidden = F.conv2d(F.relu(transition.norm(inputs)), transition.conv.weight)
    torch.testing.assert_close(transition(inputs), F.avg_pool2d(hidden, 2))


@pytest.mark.parametrize(
    ("stem", "channels", "size"),
    [("small", 1, 8), ("small", 1, 28), ("small", 3, 32), ("imagenet", 3, 29), ("imagenet", 3, 64)],
)
def test_sizes(stem: str, channels: int, size: int) -> None:
    with torch.device("meta"):
        network = densenet_121(10, channels=channels, size=size, stem=stem)
        assert network(torch.empty(2, channels, size, size)).logits.shape == (2, 10)


def test_images_too_small_for_the_imagenet_stem_are_refused() -> None:
    with pytest.raises(BadInput, match="needs 29 pixels, not 28; take stem 'small'"):
        densenet_121(10, size=28, stem="imagenet")


def test_dropout_follows_every_convolution_but_the_first() -> None:
    torch.manual_seed(0)
    network = densenet_121(10, dropout=0.4)
    kept = []
    for module in network.features.modules():
        if isinstance(module, nn.Dropout):
            module.register_forward_hook(lambda _, __, out: kept.append((out == 0).float().mean()))
    network(torch.randn(2, 3, 16, 16))
    assert len(kept) == 2 * (6 + 12 + 24 + 16) + 3
    assert torch.stack(kept[:12]).mean().item() == pytest.approx(0.4, abs=0.01)


def test_initialization_follows_the_stem() -> None:
    torch.manual_seed(0)
    weight = densenet_121(10).features.denseblock4.denselayer16.conv1.weight
    assert weight.abs().max() <= 992**-0.5
    weight = densenet_121(10, stem="imagenet").features.denseblock4.denselayer16.conv1.weight
    assert weight.std().item() == pytest.approx((2 / 992) ** 0.5, rel=0.02)
