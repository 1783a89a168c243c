"""Random-resized-crop and resizing, with Pillow's antialiased bilinear filter, for whole batches.

Pillow resamples in two passes with weights in 22-bit fixed point, and rounds to bytes in between.
So does this: sums of whole numbers below 2⁵³ are exact in float64. Pillow 13 goes along the rows
first unless the height shrinks by more than twice what the width shrinks by; so does this.
"""

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

TRIES = 10
ONE = 1 << 22
RESIZED_COLUMNS = 2 * TRIES + 2


def resize(
    images: UInt8[Tensor, "n c h w"], boxes: Float[Tensor, "n 4"], size: tuple[int, int]
) -> UInt8[Tensor, "n c a b"]:
    """Each image's box (left, top, right, bottom) brought to `size` (height, width)."""
    n, c, h, w = images.shape
    along = _weights(boxes[:, 0], boxes[:, 2], w, size[1])
    down = _weights(boxes[:, 1], boxes[:, 3], h, size[0])
    shrinks_down = boxes[:, 3] - boxes[:, 1] - size[0]
    shrinks_along = (boxes[:, 2] - boxes[:, 0] - size[1]).clamp(min=0)
    down_first = (shrinks_down > 2 * shrinks_along).numpy()
    result = images.new_empty(n, c, *size)
    for order in (False, True):
        rows = torch.from_numpy(np.flatnonzero(down_first == order))
        if len(rows):
            here = rows.to(images.device, non_blocking=True)
            passes = [
                ("nchw,nbw->nchb", along[rows].to(images.device, non_blocking=True)),
                ("nchw,nah->ncaw", down[rows].to(images.device, non_blocking=True)),
            ]
            some = images.index_select(0, here).double()
            for subscripts, weights in reversed(passes) if order else passes:
                some = _to_bytes(torch.einsum(subscripts, some, weights))
            result.index_copy_(0, here, some.to(torch.uint8))
    return result


def _to_bytes(total: Float[Tensor, "n c a b"]) -> Float[Tensor, "n c a b"]:
    return total.add_(ONE // 2).div_(ONE).floor_().clamp_(0, 255)


def _weights(
    start: Float[Tensor, " n"], stop: Float[Tensor, " n"], size: int, out: int
) -> Float[Tensor, "n o s"]:
    """How much each input position counts for each output position: a triangle, in 22 bits."""
    scale = ((stop - start).double() / out)[:, None, None]
    reach = scale.clamp(min=1)
    center = start.double()[:, None, None] + (torch.arange(out)[:, None] + 0.5) * scale
    position = torch.arange(size, dtype=torch.float64)
    # What lies outside the box is not looked at, as if the box had been cut out before.
    first = (center - reach + 0.5).floor().maximum(start.double()[:, None, None])
    last = (center + reach + 0.5).floor().minimum(stop.double()[:, None, None])
    weight = (1 - (position + 0.5 - center).abs() / reach).clamp(min=0)
    weight = weight * ((position >= first) & (position < last))
    return (weight / weight.sum(2, keepdim=True) * ONE + 0.5).floor()


def random_boxes(
    draws: Float[Tensor, "n 22"],
    height: int,
    width: int,
    *,
    area: tuple[float, float],
    aspect: tuple[float, float],
) -> Float[Tensor, "n 4"]:
    """Boxes of a random share of the area and a random aspect ratio, whole pixels.

    The first of ten tries that fits into the image is taken; if none does, the largest centred box
    whose ratio is allowed.
    """
    shares = area[0] + (area[1] - area[0]) * draws[:, :TRIES]
    low, high = (torch.tensor(ratio).log() for ratio in aspect)
    ratios = (low + (high - low) * draws[:, TRIES : 2 * TRIES]).exp()
    surface = shares * (height * width)
    wide = (surface * ratios).sqrt().round()
    tall = (surface / ratios).sqrt().round()
    fits = (wide >= 1) & (wide <= width) & (tall >= 1) & (tall <= height)
    chosen = fits.int().argmax(1, keepdim=True)
    wide, tall = wide.gather(1, chosen)[:, 0], tall.gather(1, chosen)[:, 0]
    left = (draws[:, -2] * (width - wide + 1)).floor().minimum(width - wide)
    top = (draws[:, -1] * (height - tall + 1)).floor().minimum(height - tall)
    random = torch.stack([left, top, left + wide, top + tall], dim=1)
    return torch.where(fits.any(1, keepdim=True), random, _largest(height, width, aspect))


def _largest(height: int, width: int, aspect: tuple[float, float]) -> Float[Tensor, " 4"]:
    ratio = min(max(width / height, aspect[0]), aspect[1])
    wide = min(width, round(height * ratio))
    tall = min(height, round(width / ratio))
    left, top = (width - wide) // 2, (height - tall) // 2
    return torch.tensor([left, top, left + wide, top + tall], dtype=torch.float32)


def mirror(
    images: UInt8[Tensor, "n c h w"], draws: Float[Tensor, " n"]
) -> UInt8[Tensor, "n c h w"]:
    """Half of the images, those whose number is below one half, mirrored."""
    mirrored = (draws < 0.5).to(images.device, non_blocking=True).view(-1, 1, 1, 1)
    mask = mirrored.to(torch.uint8) * 255
    return (images.flip(3) & mask) | (images & ~mask)
