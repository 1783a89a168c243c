"""DDPM++ and NCSN++ against the sizes of the published networks, and against their description."""

from pathlib import Path

import pytest
import torch
from torch import nn

from mixcal.core.errors import BadInput
from mixcal.synthesis.model import make_network
from mixcal.synthesis.options import NetworkOptions, read_generator_recipe
from mixcal.synthesis.song_blocks import Attention, Block, Resampling
from mixcal.synthesis.song_unet import SongUNet

NAMES = ("ddpm++", "ncsn++")
RECIPES = Path(__file__).parents[2] / "recipes" / "generators"


def tiny(name: str, *, told: bool = False, dropout: float = 0.0) -> SongUNet:
    torch.manual_seed(0)
    options = NetworkOptions(
        name=name,
        width=8,
        multipliers=(1, 2),
        blocks=1,
        attention=(4,),
        patch=1,
        dropout=dropout,
        told_augmentation=told,
    )
    network = make_network(options, classes=3, shape=(8, 8, 1))
    assert isinstance(network, SongUNet)
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            # The last layers of branches begin at nearly nothing.
            nn.init.normal_(module.weight, std=0.2)
    return network.eval()


def published(recipe: str) -> SongUNet:
    """On no device: names and shapes only."""
    options = read_generator_recipe(RECIPES / f"{recipe}.toml").method.network
    size = 64 if "tiny" in recipe else 32
    with torch.device("meta"):
        network = make_network(options, classes=10, shape=(size, size, 3))
    assert isinstance(network, SongUNet)
    return network


def counted(name: str) -> int:
    """Parameters of the CIFAR-10 configuration, added up layer by layer."""

    def conv(inner: int, outer: int, kernel: int) -> int:
        return inner * outer * kernel**2 + outer

    def block(inner: int, outer: int, *, attends: bool = False, moves: bool = False) -> int:
        total = 2 * inner + conv(inner, outer, 3) + conv(512, outer, 1)
        total += 2 * outer + conv(outer, outer, 3)
        total += conv(inner, outer, 1) if inner != outer or moves else 0
        return total + attends * (2 * outer + conv(outer, 3 * outer, 1) + conv(outer, outer, 1))

    noise = 256 if name == "ncsn++" else 128
    total = conv(10, noise, 1) + 9 * noise + conv(noise, 512, 1) + conv(512, 512, 1)
    total += conv(3, 128, 3) + block(128, 256) + 3 * block(256, 256)
    total += block(256, 256, moves=True) + 4 * block(256, 256, attends=True)
    total += block(256, 256, moves=True) + 4 * block(256, 256)
    total += block(256, 256, attends=True) + block(256, 256)
    total += 5 * block(512, 256)
    total += block(256, 256, moves=True) + 4 * block(512, 256) + block(512, 256, attends=True)
    total += block(256, 256, moves=True) + 4 * block(512, 256) + block(384, 256)
    total += 2 * 256 + conv(256, 3, 3)
    if name == "ncsn++":
        total += conv(3, 256, 3) + conv(256, 256, 3)
    return total


@pytest.mark.parametrize(("name", "parameters"), [("ddpm++", 55_735_299), ("ncsn++", 56_400_643)])
def test_the_cifar_network_has_the_published_size(name: str, parameters: int) -> None:
    network = published(f"cifar10-{name}")
    found = sum(parameter.numel() for parameter in network.parameters())
    assert found == counted(name) == parameters


def test_where_attention_is() -> None:
    for recipe, side, multipliers in (
        ("cifar10-ddpm++", 32, 3),
        ("tiny-imagenet-ddpm++", 64, 4),
    ):
        network = published(recipe)
        place = {64: 2, 32: 1}[side]
        for level, down in enumerate(network.encoder):
            found = [block.attention is not None for block in down.blocks]
            assert found == [level == place] * 4
        assert [block.attention is not None for block in network.middle] == [True, False]
        for level, up in zip(reversed(range(multipliers)), network.decoder, strict=True):
            found = [block.attention is not None for block in up.blocks]
            assert found == [False] * 4 + [level == place]


def test_shapes_of_the_cifar_network() -> None:
    network = published("cifar10-ddpm++")
    assert network.entry.weight.shape == (128, 3, 3, 3)
    assert network.exit.weight.shape == (3, 256, 3, 3)
    assert network.embedding.layer_1.weight.shape == (512, 128)
    assert network.embedding.layer_2.weight.shape == (512, 512)
    assert network.embedding.label.weight.shape == (128, 10)
    assert network.embedding.augmentation is not None
    assert network.embedding.augmentation.weight.shape == (128, 9)
    assert network.embedding.augmentation.bias is None
    inner = [[block.convolution_1.in_channels for block in up.blocks] for up in network.decoder]
    assert inner == [[512] * 5, [512] * 5, [512] * 4 + [384]]
    norms = [module for module in network.modules() if isinstance(module, nn.GroupNorm)]
    assert {norm.num_groups for norm in norms} == {32}
    assert {norm.eps for norm in norms} == {1e-6}
    assert {block.dropout for block in network.middle} == {0.13}
    other = published("cifar10-ncsn++")
    assert other.embedding.layer_1.weight.shape == (512, 256)
    assert [down.pyramid is not None for down in other.encoder] == [False, True, True]
    assert other.encoder[1].pyramid.convolution.weight.shape == (256, 3, 3, 3)


@pytest.mark.parametrize("name", NAMES)
def test_labels_levels_and_augmentation_matter(name: str) -> None:
    network = tiny(name, told=True)
    images, three = torch.randn(1, 1, 8, 8).expand(3, -1, -1, -1), torch.eye(3)
    first = three[:1].expand(3, -1)
    level, told = torch.zeros(3), torch.randn(3, 9)
    answers = (
        network(images, level, three),
        network(images, torch.tensor([-1.0, 0.0, 1.0]), first),
        network(images, level, first, told),
    )
    for found in answers:
        assert found.shape == (3, 1, 8, 8)
        assert not torch.allclose(found[0], found[1], atol=1e-5)
        assert not torch.allclose(found[1], found[2], atol=1e-5)


def test_no_augmentation_is_nine_zeros() -> None:
    network = tiny("ddpm++", told=True)
    images, level, targets = torch.randn(2, 1, 8, 8), torch.zeros(2), torch.eye(3)[:2]
    told = network(images, level, targets, torch.zeros(2, 9))
    assert torch.equal(told, network(images, level, targets))


def by_the_book(network: SongUNet, images: torch.Tensor, embedded: torch.Tensor) -> torch.Tensor:
    """The walk through two sizes with one block each, written out."""
    down, up = network.encoder, network.decoder
    entry = network.entry(images)
    large = down[0].blocks[0](entry, embedded)
    half = down[1].resample(large, embedded)
    if down[1].pyramid is not None:
        half = (half + down[1].pyramid(images)) / 2**0.5
    small = down[1].blocks[0](half, embedded)
    hidden = network.middle[1](network.middle[0](small, embedded), embedded)
    hidden = up[0].blocks[0](torch.cat([hidden, small], 1), embedded)
    hidden = up[0].blocks[1](torch.cat([hidden, half], 1), embedded)
    hidden = up[1].resample(hidden, embedded)
    hidden = up[1].blocks[0](torch.cat([hidden, large], 1), embedded)
    hidden = up[1].blocks[1](torch.cat([hidden, entry], 1), embedded)
    return network.exit(nn.functional.silu(network.norm(hidden)))


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_everything(name: str) -> None:
    network = tiny(name)
    images, level, targets = torch.randn(2, 1, 8, 8), torch.randn(2), torch.rand(2, 3)
    expected = by_the_book(network, images, network.embedding(level, targets))
    assert torch.allclose(network(images, level, targets), expected, atol=1e-6)


def halved(image: torch.Tensor, taps: list[float]) -> torch.Tensor:
    """Every second place of a filtered image, zeros outside, by loops."""
    reach = (len(taps) - 1) // 2
    side = image.shape[0]
    found = torch.zeros(side // 2, side // 2)
    for i in range(side // 2):
        for j in range(side // 2):
            for a, down in enumerate(taps):
                for b, right in enumerate(taps):
                    y, x = 2 * i + a - reach, 2 * j + b - reach
                    if 0 <= y < side and 0 <= x < side:
                        found[i, j] += down * right * image[y, x] / sum(taps) ** 2
    return found


@pytest.mark.parametrize("taps", [(1, 1), (1, 3, 3, 1)])
def test_resampling_by_loops(taps: tuple[int, ...]) -> None:
    images = torch.randn(2, 3, 6, 6)
    found = Resampling("down", taps)(images)
    for n in range(2):
        for c in range(3):
            assert torch.allclose(found[n, c], halved(images[n, c], list(taps)), atol=1e-6)
    # Growing is halving turned round, with four times the weight: <half(x), y> = <x, grow(y)> / 4.
    small = torch.randn(2, 3, 3, 3)
    grown = Resampling("up", taps)(small)
    assert grown.shape == images.shape
    assert torch.allclose((found * small).sum(), (images * grown).sum() / 4, atol=1e-4)


def test_what_the_filters_do_to_simple_images() -> None:
    flat = torch.ones(1, 1, 8, 8)
    for taps in ((1, 1), (1, 3, 3, 1)):
        for way in ("up", "down"):
            inside = Resampling(way, taps)(flat)[..., 1:-1, 1:-1]
            assert torch.allclose(inside, torch.ones_like(inside))
    small = torch.randn(1, 1, 2, 2)
    assert torch.equal(
        Resampling("up", (1, 1))(small), small.repeat_interleave(2, 2).repeat_interleave(2, 3)
    )


def test_the_pyramid_filters_what_the_convolution_says_beyond_the_edge() -> None:
    pyramid = tiny("ncsn++").encoder[1].pyramid
    images = torch.randn(1, 1, 8, 8)
    weight, bias = pyramid.convolution.weight, pyramid.convolution.bias
    # One place more on every side than the image has.
    wide = nn.functional.conv2d(images, weight, bias, padding=2)[0]
    taps = torch.tensor([1.0, 3, 3, 1]) / 8
    found = pyramid(images)[0]
    assert found.shape == (8, 4, 4)
    for i in range(4):
        for j in range(4):
            window = wide[:, 2 * i : 2 * i + 4, 2 * j : 2 * j + 4]
            assert torch.allclose(found[:, i, j], (window @ taps) @ taps, atol=1e-5)


def test_attention_by_loops() -> None:
    torch.manual_seed(1)
    attention = Attention(8)
    nn.init.normal_(attention.out.weight)
    images = torch.randn(1, 8, 2, 3)
    rows = attention.project(attention.norm(images))[0].reshape(8, 3, 6)
    query, key, value = rows[:, 0], rows[:, 1], rows[:, 2]
    seen = torch.zeros(8, 6)
    for place in range(6):
        scores = torch.stack([query[:, place] @ key[:, other] for other in range(6)]) / 8**0.5
        seen[:, place] = value @ scores.softmax(0)
    expected = (images + attention.out(seen.reshape(1, 8, 2, 3))) / 2**0.5
    assert torch.allclose(attention(images), expected, atol=1e-5)


def test_a_block_begins_as_its_short_cut() -> None:
    block = Block(8, 8, embedding=16, dropout=0.5, taps=(1, 1)).eval()
    images = torch.randn(2, 8, 4, 4)
    found = block(images, torch.randn(2, 16))
    assert torch.allclose(found, images / 2**0.5, atol=1e-3)
    assert not torch.equal(found, images / 2**0.5)
    assert torch.equal(block.convolution_1.bias, torch.zeros(8))
    assert block.convolution_1.weight.abs().max().item() <= (6 / (2 * 8 * 9)) ** 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (NetworkOptions(name="ddpm++", patch=2), "patch is 2"),
        (NetworkOptions(name="ddpm++", patch=1, width=10), "width is 10"),
        (NetworkOptions(name="ncsn++", patch=1, multipliers=(1,) * 5), "multiples of 16"),
    ],
)
def test_sizes_that_cannot_be_are_refused(options: NetworkOptions, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        make_network(options, classes=3, shape=(8, 8, 1))
