"""Mixing coefficients: Beta(α, α) draws, once a batch, once a group of rows, or once a row."""

from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

Draw = Literal["batch", "group", "sample"]


def beta_draws(alpha: float, count: int, generator: torch.Generator | None) -> Float[Tensor, " m"]:
    """Draws from Beta(α, α), on the CPU; ones where α ≤ 0, which means: do not mix."""
    if alpha <= 0:
        return torch.ones(count)
    return torch.from_numpy(_numpy_generator(generator).beta(alpha, alpha, count)).float()


def dirichlet_draws(
    alpha: float, parts: int, count: int, generator: torch.Generator | None
) -> Float[Tensor, "m p"]:
    """Draws from Dirichlet(α, …, α), on the CPU: each row sums to one."""
    drawn = _numpy_generator(generator).dirichlet([alpha] * parts, count)
    return torch.from_numpy(drawn).float()


def _numpy_generator(generator: torch.Generator | None) -> np.random.Generator:
    """Seeded from torch's: torch draws no such numbers from a generator of one's own; NumPy does,
    also for small α."""
    return np.random.default_rng(torch.randint(2**62, (2,), generator=generator).numpy())


def mixing_weights(
    alpha: float,
    like: Shaped[Tensor, "n ..."],
    *,
    draw: Literal["batch", "sample"] = "batch",
    generator: torch.Generator | None = None,
) -> Float[Tensor, " n"]:
    """One coefficient for all rows, or one for each, on their device."""
    count = len(like)
    drawn = beta_draws(alpha, 1 if draw == "batch" else count, generator)
    return drawn.to(like.device, non_blocking=True).expand(count)


def coefficients(
    alpha: float,
    group: Int[Tensor, " n"],
    groups: int,
    *,
    draw: Draw,
    fixed: float | None,
    generator: torch.Generator,
) -> Float[Tensor, " n"]:
    """The coefficient of each row; `group` says which of the `groups` a row belongs to."""
    n, device = len(group), group.device
    if fixed is not None:
        return torch.full((n,), fixed, device=device)
    if draw == "sample":
        return beta_draws(alpha, n, generator).to(device, non_blocking=True)
    if draw == "batch":
        return beta_draws(alpha, 1, generator).to(device, non_blocking=True).expand(n)
    return beta_draws(alpha, groups, generator).to(device, non_blocking=True)[group]
