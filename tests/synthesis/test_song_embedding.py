"""The embedding of labels and noise levels against worked numbers."""

import math

import pytest
import torch

from mixcal.synthesis.song_embedding import Embedding


def embedding(**given: bool) -> Embedding:
    torch.manual_seed(0)
    return Embedding(8, classes=3, **{"fourier": False, "augmentation": False, **given})


def test_a_mixed_label_is_the_mixture_of_embeddings() -> None:
    made = Embedding(2, classes=3, fourier=True, augmentation=False)
    # Four numbers: W and b stand in the first two.
    weight = torch.tensor([[1.0, 2, 3], [0, 1, 0], [0, 0, 0], [0, 0, 0]])
    made.label.load_state_dict({"weight": weight, "bias": torch.tensor([0.5, -0.5, 0, 0])})
    mixed = made.condition(torch.tensor([[0.25, 0.75, 0.0]]))[0]
    assert mixed[:2].tolist() == pytest.approx([3.531089, 0.799038], abs=1e-6)
    pure = made.condition(torch.eye(3))
    assert torch.allclose(mixed, 0.25 * pure[0] + 0.75 * pure[1])
    null = made.condition(torch.zeros(1, 3))[0]
    assert null[:2].tolist() == [0.5, -0.5]


def test_sines_before_cosines_and_an_end_point() -> None:
    found = embedding().noise(torch.tensor([0.0, 1.5]))
    assert found[0].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    for place in range(4):
        angle = 1.5 * 10_000 ** (-place / 3)
        assert float(found[1, place]) == pytest.approx(math.sin(angle), abs=1e-6)
        assert float(found[1, 4 + place]) == pytest.approx(math.cos(angle), abs=1e-6)


def test_random_frequencies_are_weights() -> None:
    made = embedding(fourier=True)
    assert "frequencies" in made.state_dict()
    assert "frequencies" not in embedding().state_dict()
    made.load_state_dict({**made.state_dict(), "frequencies": torch.arange(8) / 8})
    found = made.noise(torch.tensor([0.5]))[0]
    for place in range(8):
        angle = 2 * math.pi * 0.5 * place / 8
        assert float(found[place]) == pytest.approx(math.sin(angle), abs=1e-6)
        assert float(found[8 + place]) == pytest.approx(math.cos(angle), abs=1e-6)


def test_the_whole_sum_and_the_two_layers() -> None:
    made = embedding(augmentation=True)
    noise, targets, told = torch.randn(2), torch.rand(2, 3), torch.randn(2, 9)
    assert made.augmentation is not None
    total = made.noise(noise) + math.sqrt(3) * targets @ made.label.weight.T + made.label.bias
    total = total + told @ made.augmentation.weight.T
    for layer in (made.layer_1, made.layer_2):
        total = layer(total)
        total = total * total.sigmoid()
    assert torch.allclose(made(noise, targets, told), total, atol=1e-6)


def test_it_stays_in_single_precision() -> None:
    made = embedding()
    noise, targets = torch.randn(2), torch.rand(2, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(made(noise, targets), made(noise, targets).float())
        halved = made(noise, targets)
    assert torch.equal(halved, made(noise, targets))
