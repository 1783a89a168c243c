"""Colour operations on uint8 batches, each image with its own strength, equal to Pillow's.

`strength` is one float32 number per image, on the images' device. Images have one or three
channels. Rounding follows Pillow: blends are float32 and truncated, gray is fixed point.
"""

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

Images = UInt8[Tensor, "n c h w"]
Strength = Float[Tensor, " n"]


def identity(images: Images, strength: Strength) -> Images:
    """The images themselves."""
    return images


def brightness(images: Images, strength: Strength) -> Images:
    """Towards black."""
    return images.float().mul_(strength.view(-1, 1, 1, 1)).to(torch.uint8)


def color(images: Images, strength: Strength) -> Images:
    """Towards gray; gray images stay as they are."""
    if images.shape[1] == 1:
        return images
    return _blend(gray(images).float(), images, strength)


def contrast(images: Images, strength: Strength) -> Images:
    """Towards the mean gray level of the image, rounded."""
    level = gray(images).sum((1, 2, 3), dtype=torch.int64).double()
    level = (level / images[0, 0].numel() + 0.5).floor_().float()
    return _blend(level.view(-1, 1, 1, 1), images, strength)


def sharpness(images: Images, strength: Strength) -> Images:
    """Towards a 3 × 3 smoothing (weight 5 in the middle, 1 around); the border stays."""
    if min(images.shape[2:]) < 3:
        return images
    smooth = images.float()
    rows = smooth[:, :, :-2] + smooth[:, :, 1:-1] + smooth[:, :, 2:]
    total = rows[..., :-2] + rows[..., 1:-1] + rows[..., 2:]
    total.add_(smooth[:, :, 1:-1, 1:-1], alpha=4)
    # Thirteenths are never halves, so float32 rounds as exact arithmetic would.
    smooth[:, :, 1:-1, 1:-1] = total.div_(13).add_(0.5).floor_()
    return _blend(smooth, images, strength)


def posterize(images: Images, strength: Strength) -> Images:
    """Only the `strength` highest bits of each value (a whole number, at least 1)."""
    dropped = torch.exp2(8 - strength.floor().clamp(min=1)).to(torch.int32) - 1
    return images & (255 - dropped).to(torch.uint8).view(-1, 1, 1, 1)


def solarize(images: Images, strength: Strength) -> Images:
    """Values at or above `strength` (0 to 256) are inverted."""
    # Inverting is ^ 255; the comparison is on bytes, since 256 does not fit and inverts nothing.
    above = images > (strength.ceil() - 1).clamp(0, 255).to(torch.uint8).view(-1, 1, 1, 1)
    above |= (strength <= 0).view(-1, 1, 1, 1)
    return images ^ (above.to(torch.uint8) * 255)


def autocontrast(images: Images, strength: Strength) -> Images:
    """Each channel stretched to the full range."""
    n, c = images.shape[:2]
    flat = images.reshape(n, c, -1)
    low, high = flat.amin(2).double()[..., None], flat.amax(2).double()[..., None]
    flat_channel = high <= low
    # A true division: torch turns number / tensor into a product with the reciprocal.
    full = torch.full_like(low, 255.0) / (high - low).clamp_(min=1)
    scale = torch.where(flat_channel, 1.0, full)
    offset = torch.where(flat_channel, 0.0, low * scale)
    values = torch.arange(256, device=images.device, dtype=torch.float64)
    table = (values * scale).sub_(offset).clamp_(0, 255).to(torch.uint8)
    return _look_up(images, table)


def equalize(images: Images, strength: Strength) -> Images:
    """Each channel's histogram flattened."""
    n, c, h, w = images.shape
    counts = histogram(images)
    below = counts.cumsum(2, dtype=torch.int32) - counts
    # Pillow leaves out the count of the last occupied value, not the largest count.
    last = images.reshape(n, c, -1).amax(2).long()[..., None]
    step = (h * w - counts.gather(2, last)) // 255
    # Whole numbers below 2²⁴: float32 division, truncated, is exact here.
    quotient = ((below + step // 2) / step.clamp(min=1)).clamp_(max=255)
    values = torch.arange(256, device=images.device, dtype=torch.float32)
    table = torch.where(step > 0, quotient, values).to(torch.uint8)
    return _look_up(images, table)


def histogram(images: Images) -> Int[Tensor, "n c 256"]:
    """How often each value occurs in each channel."""
    n, c = images.shape[:2]
    flat = images.reshape(n * c, -1).long()
    counts = torch.zeros(n * c, 256, dtype=torch.int32, device=images.device)
    ones = torch.ones(1, dtype=torch.int32, device=images.device).expand_as(flat)
    return counts.scatter_add_(1, flat, ones).view(n, c, 256)


def gray(images: Images) -> UInt8[Tensor, "n 1 h w"]:
    """The ITU-R 601 luma in 16-bit fixed point, as Pillow's mode L."""
    if images.shape[1] == 1:
        return images
    wide = images.int()
    luma = wide[:, :1] * 19595 + wide[:, 1:2] * 38470 + wide[:, 2:3] * 7471 + 32768
    return (luma >> 16).to(torch.uint8)


def _blend(towards: Float[Tensor, "n #c #h #w"], images: Images, strength: Strength) -> Images:
    """towards + strength · (image − towards), truncated to a byte."""
    moved = (images - towards).mul_(strength.view(-1, 1, 1, 1)).add_(towards)
    return moved.to(torch.uint8)


def _look_up(images: Images, table: UInt8[Tensor, "n c 256"]) -> Images:
    n, c, h, w = images.shape
    return table.gather(2, images.reshape(n, c, h * w).long()).view(n, c, h, w)
