"""The denoiser of EDM (Karras et al., NeurIPS 2022; arXiv:2206.00364v2, Equation 7).

    D(x; σ, q) = c_skip x + c_out F(c_in x; c_noise, q)
    c_skip = σ_d² / (σ² + σ_d²)      c_out = σ σ_d / √(σ² + σ_d²)
    c_in = 1 / √(σ² + σ_d²)          c_noise = ln σ / 4

As in the paper; the condition q is a distribution over classes (Luo et al., ICML 2025;
arXiv:2504.13548v2, section 4), a row of zeros where there is none. F alone may run in half
precision.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mixcal.synthesis.noise import DATA_STD

Denoise = Callable[
    [Float[Tensor, "n c h w"], Float[Tensor, " n"], Float[Tensor, "n k"]], Float[Tensor, "n c h w"]
]
"""Noisy images, noise levels and conditions to clean images."""


class Denoiser(nn.Module):
    """A raw network between the scalings that keep its inputs and targets at unit variance."""

    def __init__(
        self,
        network: nn.Module,
        *,
        data_std: float = DATA_STD,
        autocast: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.network = network
        self.data_std = data_std
        self.autocast = autocast

    def forward(
        self,
        images: Float[Tensor, "n c h w"],
        levels: Float[Tensor, " n"],
        targets: Float[Tensor, "n k"],
        augmentation: Float[Tensor, "n d"] | None = None,
    ) -> Float[Tensor, "n c h w"]:
        """Clean images; `augmentation` is for a network that is told how they were augmented."""
        images = images.float()
        level = levels.float().view(-1, 1, 1, 1)
        skip, out, scale, noise = scalings(level, self.data_std)
        inputs = (scale * images).contiguous(memory_format=torch.channels_last)
        told = () if augmentation is None else (augmentation,)
        with torch.autocast(
            images.device.type, dtype=self.autocast, enabled=self.autocast is not None
        ):
            raw = self.network(inputs, noise.flatten(), targets.float(), *told)
        return skip * images + out * raw.float()


def scalings(
    levels: Float[Tensor, "*n"], data_std: float = DATA_STD
) -> tuple[Float[Tensor, "*n"], Float[Tensor, "*n"], Float[Tensor, "*n"], Float[Tensor, "*n"]]:
    """c_skip, c_out, c_in and c_noise."""
    power = levels.square() + data_std**2
    root = power.sqrt()
    return data_std**2 / power, levels * data_std / root, 1 / root, levels.log() / 4


def guided(denoise: Denoise, weight: float) -> Denoise:
    """Classifier-free guidance (Ho & Salimans; arXiv:2207.12598v1): (1 + w) D(q) − w D(0).

    Only for a model whose labels were dropped now and then in training. Both answers come from one
    pass. Weight 0 is the denoiser as it is.
    """
    if weight == 0:
        return denoise

    def strengthened(
        images: Float[Tensor, "n c h w"], levels: Float[Tensor, " n"], targets: Float[Tensor, "n k"]
    ) -> Float[Tensor, "n c h w"]:
        both = denoise(
            torch.cat([images, images]),
            torch.cat([levels, levels]),
            torch.cat([targets, torch.zeros_like(targets)]),
        )
        with_label, without = both.chunk(2)
        return (1 + weight) * with_label - weight * without

    return strengthened
