"""Wide residual networks against published parameter counts and a plain transcription."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mixcal.backbones.weights import with_tensors
from mixcal.backbones.wide_resnet import PUBLISHED_NAMES, small, wide_resnet, wide_resnet_37_2
from mixcal.core.errors import BadInput


def parameters(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def test_parameter_counts() -> None:
    with torch.device("meta"):
        assert parameters(wide_resnet(10)) == 1_467_626
        assert parameters(wide_resnet(100, width=8)) == 23_401_028
        assert parameters(wide_resnet_37_2(10)) == 5_929_450
        # WRN-28-10 of the paper has 36.5 million.
        assert parameters(wide_resnet(10, width=10, wiring="paper")) == 36_479_194


def test_wrn_26_10_is_the_post_activation_network_with_four_blocks_a_group() -> None:
    with torch.device("meta"):
        network = wide_resnet(10, depth=26, width=10)
    assert [len(group) for group in (network.layer1, network.layer2, network.layer3)] == [4, 4, 4]
    assert network.layer4 is None
    assert network.feature_width == 640
    # Convolutions 16 → 160 → 320 → 640, their batch norms, projections, the head: by hand.
    blocks = sum(
        9 * w_in * w + 7 * 9 * w * w + 8 * 2 * w + w_in * w + 2 * w
        for w_in, w in ((16, 160), (160, 320), (320, 640))
    )
    assert parameters(network) == 9 * 3 * 16 + 2 * 16 + blocks + 640 * 10 + 10


class PlainBlock(nn.Module):
    """A block as the public port writes it: in its later groups what bn1 makes is thrown away."""

    def __init__(self, width_in: int, width: int, stride: int, before: bool) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(width_in, momentum=0.001)
        self.conv1 = nn.Conv2d(width_in, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width, momentum=0.001)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.equal = width_in == width
        self.before = before
        if not self.equal:
            self.convShortcut = nn.Conv2d(width_in, width, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        activated = F.leaky_relu(self.bn1(x), 0.1)
        if not self.equal and self.before:
            x = activated
        out = self.conv1(activated if self.equal else x)
        out = self.conv2(F.leaky_relu(self.bn2(out), 0.1))
        return out + (x if self.equal else self.convShortcut(x))


class Plain(nn.Module):
    """WRN-16-2 with the public port's names."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1)
        width_in = 16
        for place, width in enumerate((32, 64, 128), start=1):
            stride = 1 if place == 1 else 2
            first = PlainBlock(width_in, width, stride, place == 1)
            layer = nn.Sequential(first, PlainBlock(width, width, 1, place == 1))
            self.add_module(f"block{place}", nn.Sequential())
            self.get_submodule(f"block{place}").add_module("layer", layer)
            width_in = width
        self.bn1 = nn.BatchNorm2d(128, momentum=0.001, eps=0.001)
        self.fc = nn.Linear(128, 10)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.block3(self.block2(self.block1(self.conv1(x))))
        return self.fc(F.leaky_relu(self.bn1(hidden), 0.1).mean((2, 3)))


@pytest.mark.parametrize("training", [True, False])
def test_equals_the_port_written_plainly(training: bool) -> None:
    torch.manual_seed(0)
    plain = Plain().train(training)
    ours = with_tensors(
        wide_resnet(10, depth=16), plain.state_dict(), PUBLISHED_NAMES, where="the port"
    ).train(training)
    inputs = torch.randn(4, 3, 32, 32)
    theirs, found = plain(inputs), ours(inputs).logits
    torch.testing.assert_close(found, theirs, rtol=0, atol=0)
    theirs.square().sum().backward()
    found.square().sum().backward()
    torch.testing.assert_close(ours.stem.weight.grad, plain.conv1.weight.grad, rtol=0, atol=0)
    live = plain.block2.get_submodule("layer.0.bn2")
    torch.testing.assert_close(ours.groups[1][0].norm2.weight.grad, live.weight.grad)
    assert plain.block2.get_submodule("layer.0.bn1").weight.grad is None
    assert not ours.groups[1][0].norm1.weight.requires_grad
    # The port updates the statistics of a norm without effect; ours does not compute it.
    if training:
        torch.testing.assert_close(ours.norm.running_mean, plain.bn1.running_mean)


def test_the_papers_wiring_lets_the_first_norm_of_every_group_count() -> None:
    network = wide_resnet(10, depth=10, width=2, wiring="paper")
    assert network.stem.bias is None
    network(torch.randn(4, 3, 16, 16)).logits.sum().backward()
    for group in network.groups:
        assert group[0].norm1.weight.grad.abs().sum() > 0
    hidden = network.stem(torch.randn(2, 3, 16, 16))
    block = network.groups[0][0].eval()
    entered = F.relu(block.norm1(hidden))
    by_hand = block.conv2(F.relu(block.norm2(block.conv1(entered)))) + block.shortcut(entered)
    torch.testing.assert_close(block(hidden), by_hand)


def test_initialization_has_the_published_variances() -> None:
    torch.manual_seed(0)
    network = wide_resnet(10, width=8)
    last = network.groups[2][3].conv2.weight
    assert last.std().item() == pytest.approx((2 / (9 * 512)) ** 0.5, rel=0.01)
    assert network.head.weight.std().item() == pytest.approx((2 / (512 + 10)) ** 0.5, rel=0.05)
    assert network.head.bias.abs().sum() == 0
    assert network.norm.eps == 1e-3
    assert network.norm.momentum == 0.001
    assert network.groups[0][0].norm1.eps == 1e-5


@pytest.mark.parametrize(
    ("depth", "width", "wiring"),
    [
        (27, 2, "auto"),
        (4, 2, "auto"),
        (28, 0, "auto"),
        (26, 2, "paper"),
        (28, 2, "post-activation"),
    ],
)
def test_other_sizes_are_refused(depth: int, width: int, wiring: str) -> None:
    with pytest.raises(BadInput, match=rf"wrn-{depth}-{width} .* the depth must be 6 n \+ [24] "):
        wide_resnet(10, depth=depth, width=width, wiring=wiring)


@pytest.mark.parametrize(("channels", "size"), [(1, 8), (1, 28), (3, 32), (3, 64), (3, 96)])
def test_small_images_fit(channels: int, size: int) -> None:
    for network in (small(10, channels=channels), wide_resnet(10, channels=channels, depth=10)):
        assert network.eval()(torch.randn(2, channels, size, size)).logits.shape == (2, 10)
