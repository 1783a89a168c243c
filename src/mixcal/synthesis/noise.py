"""Noise levels of EDM (Karras et al., NeurIPS 2022; arXiv:2206.00364v2, Table 1, column "ours").

    sampling:  t_i = (σ_max^(1/ρ) + i / (N − 1) · (σ_min^(1/ρ) − σ_max^(1/ρ)))^ρ,   t_N = 0
    training:  ln σ ~ N(−1.2, 1.2²),   weight (σ² + σ_d²) / (σ σ_d)²

As in the paper.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from mixcal.core.errors import BadInput

SMALLEST, LARGEST, CURVATURE = 0.002, 80.0, 7.0
# The standard deviation of images in [−1, 1], as the paper assumes it for every data set.
DATA_STD = 0.5


def noise_levels(
    steps: int,
    *,
    smallest: float = SMALLEST,
    largest: float = LARGEST,
    curvature: float = CURVATURE,
) -> Float[Tensor, " n"]:
    """The levels of a sampler of so many steps, descending, in float64; the last is 0."""
    if steps < 2:
        raise BadInput(f"A sampler needs at least 2 steps, not {steps}.")
    place = torch.arange(steps, dtype=torch.float64) / (steps - 1)
    ends = (largest ** (1 / curvature), smallest ** (1 / curvature))
    levels = (ends[0] + place * (ends[1] - ends[0])) ** curvature
    return torch.cat([levels, levels.new_zeros(1)])


def training_levels(
    normals: Float[Tensor, " n"], *, mean: float = -1.2, std: float = 1.2
) -> Float[Tensor, " n"]:
    """Noise levels to train at, from standard normal numbers."""
    return (normals * std + mean).exp()


def loss_weight(levels: Float[Tensor, " n"], *, data_std: float = DATA_STD) -> Float[Tensor, " n"]:
    """What the squared error at a noise level counts, so that every level weighs alike at first."""
    return (levels.square() + data_std**2) / (levels * data_std).square()
