"""What DDPM++ and NCSN++ are told beside the images: noise level, classes, augmentation.

    e = γ(c_noise) + W √K q + b + A a,   then two linear layers, each with SiLU

γ is sines, then cosines: of c_noise · 10,000^(−i / (m − 1)) in DDPM++, so that the last frequency
is 1/10,000; of 2π f c_noise with random f in NCSN++. As in EDM's networks (Karras et al., NeurIPS
2022; arXiv:2206.00364v2). q may be any distribution over the K classes: it is embedded as the
mixture of the classes' embeddings. A row of zeros leaves b: no condition.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from mixcal.synthesis.song_blocks import linear

SLOWEST = 10_000
FOURIER_SCALE = 16.0
# Numbers that describe how an image was augmented.
AUGMENTATION = 9


class Embedding(nn.Module):
    """Noise levels, conditions and augmentations to one vector each image."""

    frequencies: Tensor

    def __init__(self, width: int, *, classes: int, fourier: bool, augmentation: bool) -> None:
        super().__init__()
        half = width if fourier else width // 2
        if fourier:
            frequencies = torch.randn(half) * FOURIER_SCALE
        else:
            frequencies = SLOWEST ** -(torch.arange(half) / (half - 1))
        self.turns = 2 * math.pi if fourier else 1.0
        # Random ones belong to the weights.
        self.register_buffer("frequencies", frequencies, persistent=fourier)
        self.label = linear(classes, 2 * half)
        self.augmentation = linear(AUGMENTATION, 2 * half, bias=False) if augmentation else None
        self.layer_1 = linear(2 * half, 4 * width)
        self.layer_2 = linear(4 * width, 4 * width)

    def forward(
        self,
        noise: Float[Tensor, " n"],
        targets: Float[Tensor, "n k"],
        augmentation: Float[Tensor, "n 9"] | None = None,
    ) -> Float[Tensor, "n e"]:
        # Frequencies are too far apart for half precision.
        with torch.autocast(noise.device.type, enabled=False):
            told = self.noise(noise.float()) + self.condition(targets.float())
            if self.augmentation is not None and augmentation is not None:
                told = told + self.augmentation(augmentation.float())
            return F.silu(self.layer_2(F.silu(self.layer_1(told))))

    def noise(self, levels: Float[Tensor, " n"]) -> Float[Tensor, "n d"]:
        """γ of c_noise."""
        angles = levels[:, None] * (self.turns * self.frequencies)
        return torch.cat([angles.sin(), angles.cos()], dim=1)

    def condition(self, targets: Float[Tensor, "n k"]) -> Float[Tensor, "n d"]:
        """W √K q + b."""
        embedded: Tensor = self.label(math.sqrt(targets.shape[1]) * targets)
        return embedded
