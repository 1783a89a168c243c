"""Affine maps of whole batches, nearest neighbour, black outside: equal to Pillow's, bit for bit.

Pillow maps output pixel (x, y) to input (a x + b y + c, d x + e y + f) at pixel centres. For pure
translations it truncates the float position; otherwise it works in 16.16 fixed point. Both are
reproduced here with integers, so the choice of the nearest pixel is the same at ties.
"""

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from mixcal.data.views.gather import blackened, gather_pixels

ONE = 65536


def translation(shift: Float[Tensor, " n"], size: int, *, axis: int) -> Float[Tensor, "n 6"]:
    """Coefficients that move the image by `shift` of its size along x (axis 0) or y (axis 1)."""
    matrix = _identity(shift)
    matrix[:, 2 + 3 * axis] = shift * size
    return matrix


def shear(amount: Float[Tensor, " n"], *, axis: int) -> Float[Tensor, "n 6"]:
    """Coefficients of a shear along x (axis 0) or y (axis 1)."""
    matrix = _identity(amount)
    matrix[:, 1 + 2 * axis] = amount
    return matrix


def rotation(degrees: Float[Tensor, " n"], height: int, width: int) -> Float[Tensor, "n 6"]:
    """Coefficients of a counter-clockwise rotation about the image's centre."""
    angle = -torch.deg2rad(degrees.double())
    cos, sin = angle.cos(), angle.sin()
    x, y = width / 2, height / 2
    return torch.stack(
        [cos, sin, x - (cos * x + sin * y), -sin, cos, y - (-sin * x + cos * y)], dim=1
    )


def _identity(like: Float[Tensor, " n"]) -> Float[Tensor, "n 6"]:
    return like.new_tensor([1, 0, 0, 0, 1, 0], dtype=torch.float64).repeat(like.shape[0], 1)


def transform(
    images: UInt8[Tensor, "n c h w"], matrix: Float[Tensor, "n 6"]
) -> UInt8[Tensor, "n c h w"]:
    """Each image under its own map; `matrix` is float64, on the CPU or on the images' device."""
    n, c, h, w = images.shape
    a, b, shift_x, d, e, shift_y = matrix.double().to(images.device, non_blocking=True).unbind(1)
    still = (b == 0) & (d == 0)
    # Fixed point for maps that turn or shear; exact halves for those that only move.
    x0 = torch.where(still, (shift_x + 0.5).floor() * ONE, _fixed(shift_x + a * 0.5 + b * 0.5))
    y0 = torch.where(still, (shift_y + 0.5).floor() * ONE, _fixed(shift_y + d * 0.5 + e * 0.5))
    steps = torch.stack([x0, _fixed(a), _fixed(b), y0, _fixed(d), _fixed(e)]).int()
    x0, x_by_column, x_by_row, y0, y_by_column, y_by_row = steps[:, :, None, None]
    column = torch.arange(w, device=images.device, dtype=torch.int32)
    row = torch.arange(h, device=images.device, dtype=torch.int32)[:, None]
    x = (x0 + x_by_row * row + x_by_column * column) >> 16
    y = (y0 + y_by_row * row + y_by_column * column) >> 16
    inside = (x >= 0) & (x < w) & (y >= 0) & (y < h)
    index = torch.where(inside, y * w + x, 0).view(n, h * w).long()
    pixels = gather_pixels(images, index)
    return blackened(pixels, inside.view(n, h * w)).view(n, c, h, w)


def _fixed(value: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    return (value * ONE + 0.5).floor()
