"""Heun's method from noise to images (Karras et al., NeurIPS 2022; arXiv:2206.00364v2, Alg. 1, 2).

    γ = min(S_churn / N, √2 − 1) where S_min ≤ t_i ≤ S_max, else 0;   t̂ = t_i (1 + γ)
    x̂ = x + √(t̂² − t_i²) S_noise ε;   d = (x̂ − D(x̂; t̂)) / t̂;   x = x̂ + (t_{i+1} − t̂) d
    unless t_{i+1} = 0:   d′ = (x − D(x; t_{i+1})) / t_{i+1};   x = x̂ + (t_{i+1} − t̂)(d + d′) / 2

As in the paper. The state is kept in float64: many small steps are added to it. N steps ask the
network 2 N − 1 times.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from mixcal.core.errors import BadInput
from mixcal.synthesis.denoiser import Denoise


@dataclass(frozen=True, slots=True, kw_only=True)
class Churn:
    """How much noise is added and taken away again between steps; 0: the deterministic sampler."""

    amount: float = 0.0
    low: float = 0.0
    high: float = math.inf
    noise: float = 1.0

    def __post_init__(self) -> None:
        # Written so that NaN fails, too.
        for name, value in (("amount", self.amount), ("noise", self.noise)):
            if not 0 <= value < math.inf:
                raise BadInput(f"The {name} of churn is {value}; it must be 0 or more, and finite.")
        if not 0 <= self.low <= self.high:
            raise BadInput(
                f"Churn is between the noise levels from {self.low} to {self.high}; give the lower "
                "one first, 0 or more."
            )

    def at(self, level: float, steps: int) -> float:
        """γ: by which share the noise is raised before the step from this level."""
        if not self.low <= level <= self.high:
            return 0.0
        return min(self.amount / steps, math.sqrt(2) - 1)


STILL = Churn()


@torch.no_grad()
def sample(
    denoise: Denoise,
    noise: Float[Tensor, "n c h w"],
    targets: Float[Tensor, "n k"],
    levels: Float[Tensor, " t"],
    *,
    churn: Churn = STILL,
    draw: Callable[[], Float[Tensor, "n c h w"]] | None = None,
    order: Literal[1, 2] = 2,
) -> Float[Tensor, "n c h w"]:
    """Images from standard normal noise along descending levels whose last is 0.

    `draw` answers with fresh normal numbers where there is churn. `order = 1` is Euler's method.
    """
    # Plain numbers: a step never waits for the device to tell where it is.
    times = levels.tolist()
    steps = len(times) - 1
    state = noise.double() * times[0]
    for place, (now, after) in enumerate(itertools.pairwise(times)):
        raised = now * (1 + churn.at(now, steps))
        if raised > now:
            assert draw is not None, "churn needs somebody to draw its noise"
            state = state + math.sqrt(raised**2 - now**2) * churn.noise * draw().double()
        slope = (state - _denoised(denoise, state, raised, targets)) / raised
        ahead = state + (after - raised) * slope
        if order == 2 and place < steps - 1:
            other = (ahead - _denoised(denoise, ahead, after, targets)) / after
            ahead = state + (after - raised) * (slope + other) / 2
        state = ahead
    return state


def _denoised(
    denoise: Denoise, state: Float[Tensor, "n c h w"], level: float, targets: Float[Tensor, "n k"]
) -> Float[Tensor, "n c h w"]:
    levels = torch.full((len(state),), level, dtype=state.dtype, device=state.device)
    return denoise(state, levels, targets).double()
