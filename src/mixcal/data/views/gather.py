"""Moving pixels: one index per output pixel, the same for all channels of an image."""

import torch
from jaxtyping import Bool, Int, UInt8
from torch import Tensor


def gather_pixels(
    images: UInt8[Tensor, "n c h w"], index: Int[Tensor, "n p"]
) -> UInt8[Tensor, "n c p"]:
    """The pixels at these flat positions."""
    n, c, h, w = images.shape
    return images.reshape(n, c, h * w).gather(2, index[:, None].expand(n, c, -1))


def blackened(
    pixels: UInt8[Tensor, "n c p"], inside: Bool[Tensor, "n p"]
) -> UInt8[Tensor, "n c p"]:
    """The same pixels, zero where their source lay outside the image."""
    # A product: torch.where on bytes is not vectorized on CPUs and takes fifty times as long.
    return pixels * inside[:, None].to(torch.uint8)
