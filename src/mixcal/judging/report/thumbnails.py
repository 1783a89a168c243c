"""Small pictures inside a page: at most 64 pixels, as data URIs."""

import base64
import io

import numpy as np
from jaxtyping import UInt8

MOST_PIXELS = 64
# Up to this size PNG is as small as JPEG, and exact.
EXACT_PIXELS = 32
QUALITY = 82


def data_uris(images: UInt8[np.ndarray, "m c h w"]) -> list[str]:
    """Each picture as the text an <img> shows; gray ones have one channel."""
    return [_encoded(image) for image in images]


def _encoded(image: UInt8[np.ndarray, "c h w"]) -> str:
    from PIL import Image

    planes = image[0] if len(image) == 1 else np.moveaxis(image[:3], 0, -1)
    picture = Image.fromarray(np.ascontiguousarray(planes))
    picture.thumbnail((MOST_PIXELS, MOST_PIXELS), Image.Resampling.LANCZOS)
    exact = max(picture.size) <= EXACT_PIXELS
    buffer = io.BytesIO()
    if exact:
        picture.save(buffer, "PNG", optimize=True)
    else:
        picture.save(buffer, "JPEG", quality=QUALITY, optimize=True)
    text = base64.b64encode(buffer.getvalue()).decode()
    return f"data:image/{'png' if exact else 'jpeg'};base64,{text}"
