"""Predictions with known miscalibration, for reports, plots and comparisons."""

import numpy as np

from mixcal.core.predictions import Predictions


def made_predictions(
    n: int = 600,
    *,
    classes: int = 5,
    temperature: float = 0.5,
    seed: int = 0,
    split: str = "test",
    noise: float = 0.0,
) -> Predictions:
    """Labels drawn from softmax(z), scores z / temperature: below 1 overconfident.

    The samples depend on the seed alone; `noise` makes another network on the same samples.
    """
    generator = np.random.default_rng(seed)
    logits = 1.5 * generator.normal(size=(n, classes))
    labels = (logits + generator.gumbel(size=logits.shape)).argmax(1)
    other = np.random.default_rng(seed + 1).normal(size=logits.shape)
    return Predictions.of(
        labels,
        logits=((logits + noise * other) / temperature).astype(np.float32),
        classes=[f"class {k}" for k in range(classes)],
        ids=[f"image-{i:05d}" for i in range(n)],
        split=split,
        source="made",
    )


def made_pictures(m: int, *, size: int = 12, channels: int = 3) -> np.ndarray:
    """Picture i is plain, of brightness i, so that one can tell which was shown."""
    levels = (np.arange(m) % 256).astype(np.uint8)
    return np.broadcast_to(levels[:, None, None, None], (m, channels, size, size)).copy()
