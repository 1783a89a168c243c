"""Cutout: a gray square somewhere, as the strong views of FixMatch's family end with."""

from typing import Literal

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

Center = Literal["anywhere", "usb"]
CUTOUT_COLUMNS = 3
GRAY = (125, 123, 114)


def cutout(
    images: UInt8[Tensor, "n c h w"],
    draws: Float[Tensor, "n 3"],
    *,
    largest: float,
    fixed: bool = False,
    center: Center = "anywhere",
) -> UInt8[Tensor, "n c h w"]:
    """Fill a square whose side is U(0, largest)·width, or exactly largest·width if `fixed`.

    Its centre lies anywhere in the image and what would stick out is cut off; as in Pillow's
    rectangles the end pixel belongs to the square. The columns of `draws` decide side, x and y.
    `center = "usb"`: that benchmark's code draws it from U(1, width] on both axes, not U[0, width).
    """
    _, c, h, w = images.shape
    share = torch.full_like(draws[:, 0], largest) if fixed else draws[:, 0] * largest
    side = share * w
    x, y = draws[:, 1] * w, draws[:, 2] * h
    if center == "usb":
        x, y = w - draws[:, 1] * (w - 1), h - draws[:, 2] * (h - 1)
    left = (x - side / 2).clamp(min=0).floor()
    top = (y - side / 2).clamp(min=0).floor()
    box = torch.stack([left, (left + side).clamp(max=w), top, (top + side).clamp(max=h)])
    left, right, top, bottom = box.to(images.device, non_blocking=True)[..., None]
    across = torch.arange(w, device=images.device)
    down = torch.arange(h, device=images.device)
    columns = ((across >= left) & (across <= right))[:, None]
    hidden = ((down >= top) & (down <= bottom))[:, :, None] & columns
    hidden = hidden[:, None] & (side > 0).to(images.device)[:, None, None, None]
    gray = GRAY if c == 3 else (sum(GRAY) // 3,) * c
    fill = torch.tensor(gray, dtype=torch.uint8, device=images.device).view(1, c, 1, 1)
    covered = hidden.to(torch.uint8)
    return images * (1 - covered) + fill * covered
