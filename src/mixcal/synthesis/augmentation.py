"""Augmentation that does not leak (Karras et al., NeurIPS 2022; arXiv:2206.00364v2, appendix F.2).

Every image is mirrored by a coin. With probability p each: upside down by a coin, larger or smaller
by 2^(0.2 N), turned by any angle, stretched by 2^(0.2 N) along an axis (half of the time a tilted
one), moved by N/8 of its size. The network is told nine numbers (mirrored, upside down, size, cos −
1 and sin of the turn, the stretch times cos and sin of its tilt, the two moves), all of them 0 when
it draws. Differs from the paper: pixels are interpolated linearly, without filters, and the image
is mirrored at its edges, edge pixels included.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

DEVIATION, MOVE = 0.2, 0.125


def augmented(
    images: Float[Tensor, "n c h w"], probability: float, generator: torch.Generator
) -> tuple[Float[Tensor, "n c h w"], Float[Tensor, "n 9"]]:
    """The images as they will be shown, and the nine numbers; drawn on the CPU."""
    told, linear = _drawn(len(images), probability, generator)
    told, linear = told.to(images.device), linear.to(images.device)
    mirrored, upside_down = told[:, :2, None, None, None].bool().unbind(1)
    images = torch.where(mirrored, images.flip(3), images)
    images = torch.where(upside_down, images.flip(2), images)
    height, width = images.shape[2:]
    # From pixels to the units of the grid, whose sides are 2 long.
    linear = linear * linear.new_tensor([[1, height / width], [width / height, 1]])
    start = -linear @ (2 * MOVE * told[:, 7:, None])
    grid = F.affine_grid(torch.cat([linear, start], dim=2), list(images.shape), align_corners=False)
    moved = F.grid_sample(images, grid, padding_mode="reflection", align_corners=False)
    still = (told[:, 2:] == 0).all(1)[:, None, None, None]
    return torch.where(still, images, moved), told


def _drawn(
    count: int, probability: float, generator: torch.Generator
) -> tuple[Float[Tensor, "n 9"], Float[Tensor, "n 2 2"]]:
    """The nine numbers, and where a place of the answer, seen from the middle, was before."""
    happens = torch.rand(count, 5, generator=generator) < probability
    coins = torch.rand(count, 3, generator=generator) < 0.5
    angles = (torch.rand(count, 2, generator=generator) * 2 - 1) * math.pi
    normals = torch.randn(count, 4, generator=generator)
    flags = torch.stack([coins[:, 0], coins[:, 1] & happens[:, 0]], dim=1).float()
    size, stretch = normals[:, 0] * happens[:, 1], normals[:, 1] * happens[:, 3]
    turn, tilt = angles[:, 0] * happens[:, 2], angles[:, 1] * coins[:, 2]
    told = torch.stack(
        [size, turn.cos() - 1, turn.sin(), stretch * tilt.cos(), stretch * tilt.sin()], dim=1
    )
    smaller, shorter = (-DEVIATION * size).exp2(), (-DEVIATION * stretch).exp2()
    stretched = torch.diag_embed(torch.stack([shorter, 1 / shorter], dim=1))
    linear = _turned(turn) @ _turned(-tilt) @ stretched @ _turned(tilt)
    move = normals[:, 2:] * happens[:, 4:]
    return torch.cat([flags, told, move], dim=1), smaller[:, None, None] * linear


def _turned(angle: Float[Tensor, " n"]) -> Float[Tensor, "n 2 2"]:
    cos, sin = angle.cos(), angle.sin()
    return torch.stack([cos, -sin, sin, cos], dim=1).reshape(-1, 2, 2)
