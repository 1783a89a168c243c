"""Flip and shift: what weak views of small images are."""

from typing import Literal

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from mixcal.data.views.gather import blackened, gather_pixels

Border = Literal["reflect", "zeros", "edge"]

SHIFT_COLUMNS = 3


def flip_and_shift(
    images: UInt8[Tensor, "n c h w"],
    draws: Float[Tensor, "n 3"],
    *,
    padding: int,
    border: Border,
    flip: bool,
) -> UInt8[Tensor, "n c h w"]:
    """Pad by `padding`, cut out a window of the old size anywhere, mirror half of the images.

    The columns of `draws` decide the flip, the row and the column of the window.
    """
    n, c, h, w = images.shape
    device = images.device
    moves = (draws[:, 1:3] * (2 * padding + 1)).floor().clamp(max=2 * padding).long() - padding
    moves = moves.to(device, non_blocking=True)
    rows = torch.arange(h, device=device) + moves[:, :1]
    columns = torch.arange(w, device=device).expand(n, w)
    if flip:
        mirrored = (draws[:, :1] < 0.5).to(device, non_blocking=True)
        columns = torch.where(mirrored, w - 1 - columns, columns)
    columns = columns + moves[:, 1:]
    index = (_inside(rows, h, border)[:, :, None] * w + _inside(columns, w, border)[:, None]).view(
        n, h * w
    )
    pixels = gather_pixels(images, index)
    if border == "zeros":
        seen = ((rows >= 0) & (rows < h))[:, :, None] & ((columns >= 0) & (columns < w))[:, None]
        pixels = blackened(pixels, seen.view(n, h * w))
    return pixels.view(n, c, h, w)


def _inside(position: Int[Tensor, "n s"], size: int, border: Border) -> Int[Tensor, "n s"]:
    """Positions folded back into [0, size): mirrored without repeating the edge, or clamped."""
    if border == "reflect":
        position = position.abs()
        position = size - 1 - (size - 1 - position).abs()
    return position.clamp(0, size - 1)
