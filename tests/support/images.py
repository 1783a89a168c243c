"""Images with some structure, for tests that need no real data."""

import torch
from torch import Tensor


def smooth_images(n: int, *, channels: int = 3, size: int = 32, seed: int = 0) -> Tensor:
    """Random uint8 images (n, c, h, w), smooth at the scale of an eighth of their size."""
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.rand(n, channels, 8, 8, generator=generator)
    fine = torch.nn.functional.interpolate(coarse, size=size, mode="bicubic")
    return (fine.clamp(0, 1) * 255).round().to(torch.uint8)
