"""Strong views, ours in batches against Pillow's one by one: images a CPU second.

python benchmarks/strong_views.py
"""

import random
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.machine import smooth_images
from mixcal.data.options import ViewOptions
from mixcal.data.preprocessing import Preprocessing
from mixcal.data.views.randaugment import NAMES, PRESETS
from mixcal.data.views.view import image_views
from tests.support.pillow_operations import pillow_cutout, pillow_operation

ROWS = 448
MEAN, STD = (0.49, 0.48, 0.45), (0.25, 0.24, 0.26)


def pillow_view(picture: np.ndarray, mean: np.ndarray, std: np.ndarray) -> np.ndarray:
    """One image's way: pad, crop, flip, three operations, cutout, normalize."""
    image = Image.fromarray(np.pad(picture, ((4, 4), (4, 4), (0, 0)), mode="reflect"))
    top, left = random.randint(0, 8), random.randint(0, 8)
    image = image.crop((left, top, left + 32, top + 32))
    if random.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    for name in random.choices(NAMES, k=3):
        low, high = PRESETS["usb"].ranges[name]
        image = pillow_operation(image, name, random.uniform(low, high))
    side = random.uniform(0, 16)
    image = pillow_cutout(image, side, random.uniform(0, 32), random.uniform(0, 32))
    return (np.asarray(image, np.float32) / 255 - mean) / std


def strong_views_over_pillow(repeats: int = 7) -> float:
    """How many times as many images a CPU second, in turns, the median of pairs."""
    raw = smooth_images(ROWS)
    pictures = raw.permute(0, 2, 3, 1).numpy()
    preprocessing = Preprocessing(size=(32, 32), stored=(32, 32), mean=MEAN, std=STD)
    view = image_views(ViewOptions(), preprocessing, flips=True).strong
    mean, std = np.array(MEAN, np.float32), np.array(STD, np.float32)
    ratios = []
    for turn in range(repeats + 1):
        began = time.process_time()
        view(raw, torch.rand(ROWS, view.columns))
        ours = time.process_time() - began
        began = time.process_time()
        for picture in pictures:
            pillow_view(picture, mean, std)
        theirs = time.process_time() - began
        if turn:
            ratios.append(theirs / ours)
    return round(statistics.median(ratios), 2)


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(f"strong views: {strong_views_over_pillow()} x Pillow")
