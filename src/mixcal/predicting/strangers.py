"""Inputs that belong to none of the classes: Gaussian noise, and the pictures of other data sets.

Noise has the mean and variance of the training data: N(0, 1) where inputs are normalized, as in
Thulasidasan et al. (NeurIPS 2019; arXiv:1905.11001v5, section 4). It leaves the range of pixels
unless it is clipped to it.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped, UInt8
from torch import Tensor, nn

from mixcal.core.seeds import derive
from mixcal.data.pool import Pool
from mixcal.data.preprocessing import Preprocessing
from mixcal.data.views.resize import resize
from mixcal.predicting.single_pass import SINGLE_PASS
from mixcal.predicting.way import Answer, Way

# Noise is drawn in blocks of so many images, each from a seed of its own.
BLOCK = 256
# How much red, green and blue count for gray, in thousandths (ITU-R 601, as Pillow has it).
LUMA = (299, 587, 114)


def noise(
    preprocessing: Preprocessing, count: int, *, seed: int, clip: bool = False
) -> Iterator[Float[Tensor, "b c h w"]]:
    """Normalized inputs of N(0, 1), block by block; image i is the same whatever the count."""
    shape = (preprocessing.channels, *preprocessing.size)
    low, high = (
        torch.tensor([(end - m) / s for m, s in _statistics(preprocessing)]).view(1, -1, 1, 1)
        for end in (0.0, 1.0)
    )
    for block in range(-(-count // BLOCK)):
        generator = torch.Generator().manual_seed(derive(seed, "noise", block))
        drawn = torch.randn(BLOCK, *shape, generator=generator)[: count - block * BLOCK]
        yield drawn.maximum(low).minimum(high) if clip else drawn


def _statistics(preprocessing: Preprocessing) -> list[tuple[float, float]]:
    return list(zip(preprocessing.mean, preprocessing.std, strict=True))


def pictures_of(
    pool: Pool, index: Int[np.ndarray, " n"], preprocessing: Preprocessing
) -> Iterator[Float[Tensor, "b c h w"]]:
    """Another data set's pictures as the network sees its own: color, size, normalization."""
    return map(seen_by(preprocessing), raw_pictures_of(pool, index, preprocessing))


def seen_by(preprocessing: Preprocessing) -> Callable[[Tensor], Tensor]:
    """What makes inputs of pictures in the size that the training pictures are stored in."""
    return lambda raw: preprocessing.normalized(preprocessing.centered(raw))


def raw_pictures_of(
    pool: Pool, index: Int[np.ndarray, " n"], preprocessing: Preprocessing
) -> Iterator[UInt8[Tensor, "b c h w"]]:
    """Another data set's pictures with the colors and the stored size of the network's own."""
    for start in range(0, len(index), BLOCK):
        raw = recolored(pool.take(index[start : start + BLOCK]), preprocessing.channels)
        height, width = raw.shape[2:]
        if (height, width) != preprocessing.stored:
            whole = torch.tensor([[0.0, 0.0, width, height]]).expand(len(raw), 4)
            raw = resize(raw, whole, preprocessing.stored)
        yield raw


def recolored(raw: UInt8[Tensor, "n c h w"], channels: int) -> UInt8[Tensor, "n d h w"]:
    """Gray pictures with three equal channels, or color ones as gray."""
    if raw.shape[1] == channels:
        return raw
    if channels == 3:
        return raw.expand(-1, 3, -1, -1).contiguous()
    weights = torch.tensor(LUMA).view(1, 3, 1, 1)
    return ((raw.long() * weights).sum(1, keepdim=True) + 500).div(1000).to(torch.uint8)


def answers(
    network: nn.Module, inputs: Iterator[Float[Tensor, "b c h w"]]
) -> tuple[Float[np.ndarray, "n k"], Float[np.ndarray, "n d"]]:
    """Logits and features of all inputs, by one pass."""
    found = answered(network, inputs, lambda whole: whole, SINGLE_PASS)
    return found.scores.numpy(), found.features.numpy()


@torch.no_grad()
def answered(
    network: nn.Module,
    raw: Iterator[Shaped[Tensor, "b ..."]],
    seen: Callable[[Tensor], Tensor],
    way: Way,
) -> Answer:
    """What one way of predicting says to all inputs, in evaluation mode; on the CPU."""
    device = next(network.parameters()).device
    was_training = network.training
    network.eval()
    try:
        made = [way(network, some.to(device), seen) for some in raw]
    finally:
        network.train(was_training)
    members = [answer.members for answer in made if answer.members is not None]
    return Answer(
        torch.cat([answer.scores for answer in made]).cpu(),
        torch.cat([answer.features for answer in made]).cpu(),
        torch.cat(members, dim=1).cpu() if members else None,
    )
