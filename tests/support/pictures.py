"""Small picture files in folders, for tests of readers."""

from pathlib import Path

import numpy as np
from PIL import Image

from tests.support.images import smooth_images


def picture(seed: int, *, channels: int = 3, size: tuple[int, int] = (20, 20)) -> np.ndarray:
    """A picture of its own for every seed, height and width as given."""
    height, width = size
    planes = smooth_images(1, channels=channels, size=max(size), seed=seed)[0].numpy()
    pixels = planes[:, :height, :width].transpose(1, 2, 0)
    return pixels[..., 0] if channels == 1 else pixels


def save(path: Path, pixels: np.ndarray, **more) -> Path:
    """Write a picture, its folders too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **more)
    return path


def class_folders(
    root: Path, counts: dict[str, int], *, channels: int = 3, size: tuple[int, int] = (20, 20)
) -> Path:
    """Class folders with so many PNG files each; every picture is another one."""
    for place, (name, count) in enumerate(counts.items()):
        for number in range(count):
            pixels = picture(1000 * place + number, channels=channels, size=size)
            save(root / name / f"{number:03d}.png", pixels)
    return root
