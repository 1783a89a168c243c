"""Decoding: a picture file to uint8 pixels of one size and one number of channels.

A picture is turned upright (EXIF), brought to the size so that its shorter side fits, with
antialiasing, and cut in the middle. Transparency is dropped; 16-bit gray keeps its upper byte.
"""

from dataclasses import dataclass
from io import BufferedIOBase
from typing import IO, cast

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageOps, UnidentifiedImageError

# What Pillow may try; the formats that run programs or hold other formats stay out.
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "PPM", "TIFF")
SUFFIXES = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp"),
    *(".gif", ".ppm", ".pgm", ".pbm", ".tif", ".tiff"),
)
# Pillow's own limit: a larger one takes more than 256 MB to decode, however small the file is.
MOST_PIXELS = 89_478_485
GRAY_MODES = ("1", "L", "LA", "La", "I", "I;16", "I;16L", "I;16B")
ORIENTATION = 0x0112
TAIL = 64


class Unreadable(Exception):
    """A file that is no picture, or a damaged one; the message says why in a few words."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says about its picture before it is decoded; `size` is upright height, width.

    `ended`: the file ends as its format wants it, so it has not been cut off. False means only
    that decoding must tell.
    """

    size: tuple[int, int]
    color: bool
    ended: bool


def header(file: BufferedIOBase) -> Header:
    """The header of a picture file."""
    try:
        image = _opened(file)
        height, width = image.height, image.width
        if _orientation(image) >= 5:
            height, width = width, height
        # Looked at before the end of the file is: a palette is read from the file.
        color = image.mode not in GRAY_MODES and not _gray_palette(image)
        return Header((height, width), color, _ended(file, image.format))
    except Unreadable:
        raise
    except Exception as error:  # a decoder at work on arbitrary bytes may raise anything
        raise Unreadable(_reason(error)) from None


def decoded(
    file: BufferedIOBase, *, size: tuple[int, int] | None, channels: int
) -> UInt8[np.ndarray, "h w c"]:
    """The pixels of a picture file; `size` is height and width, None as it is."""
    try:
        image = _opened(file)
        if size is not None:
            # JPEG can leave out detail while decoding; twice the size stays sharp.
            side = 2 * max(size)
            image.draft(None, (side, side))
        image.load()
        image = _in_channels(_upright(image), channels)
        if size is not None:
            image = _fitted(image, size)
        pixels = np.array(image)
        return pixels if pixels.ndim == 3 else pixels[..., None]
    except Unreadable:
        raise
    except Exception as error:  # as above
        raise Unreadable(_reason(error)) from None


def _opened(file: BufferedIOBase) -> Image.Image:
    image: Image.Image = Image.open(cast(IO[bytes], file), formats=FORMATS)
    if image.width * image.height > MOST_PIXELS:
        raise Unreadable(
            f"{image.width} x {image.height} pixels are more than {MOST_PIXELS:,} in all"
        )
    return image


def _orientation(image: Image.Image) -> int:
    try:
        turned = int(image.getexif().get(ORIENTATION, 1))
    except Exception:  # damaged EXIF data say nothing; the picture may be whole
        return 1
    return turned if 1 <= turned <= 8 else 1


def _upright(image: Image.Image) -> Image.Image:
    return image if _orientation(image) == 1 else ImageOps.exif_transpose(image)


def _gray_palette(image: Image.Image) -> bool:
    if image.mode != "P":
        return False
    palette = np.array(image.getpalette("RGB") or [], dtype=np.uint8).reshape(-1, 3)
    return bool((palette == palette[:, :1]).all())


def _ended(file: BufferedIOBase, kind: str | None) -> bool:
    size = file.seek(0, 2)
    file.seek(max(0, size - TAIL))
    tail = file.read(TAIL)
    if kind == "JPEG":
        return tail.rstrip(b"\0\r\n").endswith(b"\xff\xd9")
    return kind == "PNG" and b"IEND" in tail


def _in_channels(image: Image.Image, channels: int) -> Image.Image:
    if image.mode in ("I", "F"):
        raise Unreadable("its gray values have 32 bits")
    if image.mode.startswith("I;16"):
        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode == "P":
        # By way of RGBA, so that a transparent colour is dropped without a warning.
        image = image.convert("RGBA")
    return image.convert("L" if channels == 1 else "RGB")


def _fitted(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    height, width = size
    if (image.height, image.width) == size:
        return image
    scale = min(image.height / height, image.width / width)
    left = (image.width - scale * width) / 2
    top = (image.height - scale * height) / 2
    box = (left, top, left + scale * width, top + scale * height)
    return image.resize((width, height), Image.Resampling.BILINEAR, box=box)


def _reason(error: Exception) -> str:
    if isinstance(error, UnidentifiedImageError):
        return "it is no picture in a known format"
    return str(error) or type(error).__name__
