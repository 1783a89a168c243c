"""Handwritten digits: the 1,797 gray 8 × 8 images that scikit-learn carries; no download."""

import numpy as np

from mixcal.data.options import DataOptions
from mixcal.data.pool import MemoryPool
from mixcal.data.reading import Reading
from mixcal.data.source import Source


def read_digits(options: DataOptions, reading: Reading) -> Source:
    """Images at odd positions are the test set (898), the others the training pool (899).

    The set has no published split, and neighbours are by the same writers; taking every second
    image keeps both halves alike. Values 0 … 16 are stretched to 0 … 255.
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = np.rint(digits.images * (255 / 16)).astype(np.uint8)
    odd = np.arange(len(images)) % 2 == 1
    ids = np.array([f"digits/{i:04d}" for i in range(len(images))])
    pools = [
        MemoryPool.of_images(images[part], digits.target[part], ids[part]) for part in (~odd, odd)
    ]
    return Source(
        name="digits",
        classes=tuple(str(name) for name in digits.target_names),
        train=pools[0],
        test=pools[1],
        flips=False,
    )
