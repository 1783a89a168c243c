"""The network: a mixed label is embedded as the mixture of embeddings, and shapes are refused."""

import sys

import pytest
import torch
from torch import nn

from mixcal.core.errors import BadInput
from mixcal.synthesis.options import NetworkOptions
from mixcal.synthesis.soft_embedding import SoftEmbedding
from mixcal.synthesis.unet import UNet

TINY = NetworkOptions(width=8, multipliers=(1, 2), blocks=1, patch=2, attention=(2,))


def tiny(options: NetworkOptions = TINY, size: int = 8) -> UNet:
    torch.manual_seed(0)
    network = UNet(options, classes=3, channels=1, size=(size, size))
    # Its last layer begins with zeros, which would make everything equal.
    nn.init.normal_(network.unet.conv_out.weight, std=0.1)
    return network.eval()


def test_a_mixed_label_is_the_mixture_of_embeddings() -> None:
    embedding = SoftEmbedding(3, 5)
    share = torch.tensor([[0.25, 0.75, 0.0]])
    mixed = embedding(share)
    expected = 0.25 * embedding.weight[0] + 0.75 * embedding.weight[1]
    assert torch.allclose(mixed[0], expected)
    assert torch.allclose(embedding(torch.eye(3)), embedding(torch.arange(3)))
    assert torch.equal(embedding(torch.zeros(1, 3)), torch.zeros(1, 5))


def test_half_precision_around_it_does_not_touch_the_mixture() -> None:
    embedding = SoftEmbedding(3, 64)
    share = torch.tensor([[2 / 7, 5 / 7, 0.0]])
    plain = embedding(share)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(embedding(share), plain)


def test_weights_of_a_plain_embedding_load() -> None:
    plain = nn.Embedding(3, 5)
    embedding = SoftEmbedding(3, 5)
    embedding.load_state_dict(plain.state_dict())
    assert torch.equal(embedding(torch.tensor([2, 0])), plain(torch.tensor([2, 0])))


def test_a_label_by_number_and_as_a_distribution_draw_the_same() -> None:
    network = tiny()
    images, noise = torch.randn(3, 1, 8, 8), torch.zeros(3)
    soft = network(images, noise, torch.eye(3))
    hard = network.unet(
        torch.nn.functional.pixel_unshuffle(images, 2), noise, torch.arange(3)
    ).sample
    assert torch.allclose(soft, torch.nn.functional.pixel_shuffle(hard, 2), atol=1e-6)


def test_labels_and_noise_levels_matter() -> None:
    network = tiny()
    images = torch.randn(1, 1, 8, 8).expand(3, -1, -1, -1)
    by_label = network(images, torch.zeros(3), torch.eye(3))
    by_level = network(images, torch.tensor([-1.0, 0.0, 1.0]), torch.eye(3)[:1].expand(3, -1))
    for found in (by_label, by_level):
        assert not torch.allclose(found[0], found[1], atol=1e-5)
        assert not torch.allclose(found[1], found[2], atol=1e-5)


def test_an_untrained_network_answers_nothing() -> None:
    network = UNet(TINY, classes=3, channels=1, size=(8, 8))
    found = network(torch.randn(2, 1, 8, 8), torch.zeros(2), torch.eye(3)[:2])
    assert torch.equal(found, torch.zeros(2, 1, 8, 8))


@pytest.mark.parametrize("patch", [1, 2])
def test_it_can_learn(patch: int) -> None:
    torch.manual_seed(0)
    options = NetworkOptions(width=8, multipliers=(1, 2), patch=patch)
    network = UNet(options, classes=3, channels=1, size=(8, 8))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    images = torch.randn(6, 1, 8, 8)
    targets = torch.eye(3).repeat(2, 1)
    losses = []
    for _ in range(30):
        loss = (network(images, torch.zeros(6), targets) - images).square().mean()
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses[-1] < 0.5 * losses[0]


def test_sizes_that_cannot_be_halved_are_refused() -> None:
    with pytest.raises(BadInput, match="10 × 10 cannot be halved as often"):
        tiny(size=10)
    with pytest.raises(BadInput, match="width is 12; take a multiple of 8"):
        tiny(NetworkOptions(width=12))


def test_a_missing_diffusers_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "diffusers", None)
    with pytest.raises(BadInput, match=r"needs the package diffusers .*install mixcal\[csm\]\."):
        tiny()
