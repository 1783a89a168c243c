"""What Pillow makes of one image, for comparison with our batched operations."""

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance, ImageOps


def pillow_operation(image: Image.Image, name: str, strength: float) -> Image.Image:
    """One of RandAugment's operations at a strength."""
    width, height = image.size
    maps = {
        "shear_x": (1, strength, 0, 0, 1, 0),
        "shear_y": (1, 0, 0, strength, 1, 0),
        "translate_x": (1, 0, strength * width, 0, 1, 0),
        "translate_y": (1, 0, 0, 0, 1, strength * height),
    }
    if name in maps:
        return image.transform(image.size, Image.Transform.AFFINE, maps[name])
    operations = {
        "identity": lambda: image,
        "autocontrast": lambda: ImageOps.autocontrast(image),
        "equalize": lambda: ImageOps.equalize(image),
        "brightness": lambda: ImageEnhance.Brightness(image).enhance(strength),
        "color": lambda: ImageEnhance.Color(image).enhance(strength),
        "contrast": lambda: ImageEnhance.Contrast(image).enhance(strength),
        "sharpness": lambda: ImageEnhance.Sharpness(image).enhance(strength),
        "posterize": lambda: ImageOps.posterize(image, max(1, int(strength))),
        "solarize": lambda: ImageOps.solarize(image, strength),
        "rotate": lambda: image.rotate(strength),
    }
    return operations[name]()


def to_pillow(planes: np.ndarray) -> Image.Image:
    """A uint8 image (c, h, w) as Pillow holds it."""
    return Image.fromarray(planes[0] if len(planes) == 1 else planes.transpose(1, 2, 0))


def to_planes(image: Image.Image) -> np.ndarray:
    """Back to (c, h, w)."""
    array = np.asarray(image)
    return array[None] if array.ndim == 2 else array.transpose(2, 0, 1)


def pillow_cutout(image: Image.Image, side: float, x: float, y: float) -> Image.Image:
    """A gray rectangle of `side` around (x, y), in pixels."""
    left, top = int(max(0, x - side / 2)), int(max(0, y - side / 2))
    right, bottom = min(image.width, left + side), min(image.height, top + side)
    result = image.copy()
    fill = (125, 123, 114) if image.mode == "RGB" else 120
    ImageDraw.Draw(result).rectangle((left, top, right, bottom), fill)
    return result
