"""The scalings against numbers worked out by hand, guidance against its formula."""

import pytest
import torch
from torch import Tensor, nn

from mixcal.synthesis.denoiser import Denoiser, guided, scalings
from mixcal.synthesis.noise import loss_weight

BY_HAND = {
    0.5: (0.5, 0.353553, 1.414214, -0.173287),
    1.0: (0.2, 0.447214, 0.894427, 0.0),
    80.0: (3.9061e-5, 0.499990, 0.0125, 1.095507),
    0.002: (0.999984, 0.002, 2.0, -1.553652),
}


class Recorder(nn.Module):
    """Answers with its inputs times a number and remembers what it was asked."""

    def forward(self, inputs: Tensor, noise: Tensor, targets: Tensor) -> Tensor:
        self.asked = (inputs, noise, targets)
        return 3 * inputs


@pytest.mark.parametrize("level", BY_HAND)
def test_scalings_by_hand(level: float) -> None:
    found = [part.item() for part in scalings(torch.tensor([level], dtype=torch.float64))]
    assert found == pytest.approx(BY_HAND[level], abs=1e-5, rel=1e-5)


@pytest.mark.parametrize("level", BY_HAND)
def test_the_target_of_the_raw_network_has_unit_variance_at_every_level(level: float) -> None:
    """Images of variance σ_d² plus noise: (y − c_skip x) / c_out has variance 1, c_in x too."""
    skip, out, scale, _ = scalings(torch.tensor([level], dtype=torch.float64))
    target = ((1 - skip).square() * 0.25 + skip.square() * level**2) / out.square()
    assert target.item() == pytest.approx(1)
    assert (scale.square() * (0.25 + level**2)).item() == pytest.approx(1)
    # The weighted loss in terms of the raw network's error is the plain square at every level.
    weight = loss_weight(torch.tensor([level], dtype=torch.float64))
    assert (weight * out.square()).item() == pytest.approx(1)


def test_the_network_gets_scaled_images_and_the_answer_is_put_together() -> None:
    network = Recorder()
    denoiser = Denoiser(network)
    images = torch.randn(2, 1, 4, 4, dtype=torch.float64)
    levels, targets = torch.tensor([0.5, 1.0]), torch.eye(2)
    found = denoiser(images, levels, targets)
    inputs, noise, given = network.asked
    assert inputs.dtype == noise.dtype == torch.float32
    for row, level in enumerate((0.5, 1.0)):
        skip, out, scale, quarter = BY_HAND[level]
        image = images[row].float()
        assert torch.allclose(inputs[row], scale * image, atol=1e-5)
        assert noise[row].item() == pytest.approx(quarter, abs=1e-6)
        assert torch.allclose(found[row], skip * image + out * 3 * scale * image, atol=1e-5)
    assert torch.equal(given, targets)


def test_without_noise_the_image_itself_comes_back() -> None:
    images = torch.randn(1, 1, 4, 4)
    found = Denoiser(Recorder())(images, torch.tensor([1e-6]), torch.eye(1))
    assert torch.allclose(found, images, atol=1e-4)


def test_half_precision_stays_inside_the_network() -> None:
    class Convolution(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Conv2d(1, 1, 3, padding=1)

        def forward(self, inputs: Tensor, noise: Tensor, targets: Tensor) -> Tensor:
            answer = self.inner(inputs)
            assert answer.dtype == torch.bfloat16
            return answer

    found = Denoiser(Convolution(), autocast=torch.bfloat16)(
        torch.randn(1, 1, 4, 4, dtype=torch.float64), torch.ones(1), torch.eye(1)
    )
    assert found.dtype == torch.float32


def test_guidance_moves_away_from_the_answer_without_a_label() -> None:
    def denoise(images: Tensor, levels: Tensor, targets: Tensor) -> Tensor:
        return images * targets.sum(1).view(-1, 1, 1, 1) + targets[:, :1].view(-1, 1, 1, 1)

    images, levels = torch.ones(2, 1, 1, 1), torch.ones(2)
    targets = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert guided(denoise, 0.0) is denoise
    found = guided(denoise, 0.5)(images, levels, targets)
    assert found.flatten().tolist() == pytest.approx([1.5 * 2, 1.5 * 1])
