"""Real data as the tests have it: mosaics of CIFAR-10 and SVHN turned into .npz files, once.

    python -m tests.support.mosaics FOLDER

reads $MIXCAL_DATA and makes FOLDER a data folder: cifar10.npz, svhn.npz, and links to the other
sets. A mosaic zip holds labels.npy, meta.json and lossless pictures of 10 x 10 tiles each.
"""

import io
import json
import os
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

SETS = {
    "cifar10": ([f"cifar10_train_{part}.zip" for part in range(1, 6)], "cifar10_test.zip"),
    "svhn": (["svhn_train_10k.zip"], "svhn_test_5k.zip"),
}


def read_mosaic(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The images and labels of one zip."""
    with zipfile.ZipFile(path) as archive:
        meta = json.loads(archive.read("meta.json"))
        count, side = meta["count"], meta["tile"][0]
        images = np.empty((count, side, side, 3), np.uint8)
        for start in range(0, count, 100):
            picture = Image.open(io.BytesIO(archive.read(f"m{start // 100:04d}.webp")))
            tiles = np.asarray(picture.convert("RGB")).reshape(10, side, 10, side, 3)
            tiles = tiles.transpose(0, 2, 1, 3, 4).reshape(100, side, side, 3)
            images[start : start + 100] = tiles[: count - start]
        labels = np.load(io.BytesIO(archive.read("labels.npy")))
    return images, labels


def unpack(name: str, mosaics: Path, into: Path) -> Path:
    """One set as NAME.npz; several processes may ask for it at the same time."""
    target = into / f"{name}.npz"
    if target.is_file():
        return target
    train_files, test_file = SETS[name]
    parts = [read_mosaic(mosaics / name / file) for file in train_files]
    test_images, test_labels = read_mosaic(mosaics / name / test_file)
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=into, suffix=".part", delete=False) as file:
        np.savez(
            file,
            train_images=np.concatenate([images for images, _ in parts]),
            train_labels=np.concatenate([labels for _, labels in parts]).astype(np.int64),
            test_images=test_images,
            test_labels=test_labels.astype(np.int64),
        )
    os.replace(file.name, target)
    return target


def unpacked(into: Path | None = None) -> Path:
    """A data folder with all real data there are; in the user's cache unless named."""
    mosaics = Path(os.environ["MIXCAL_DATA"])
    if into is None:
        into = Path.home() / ".cache" / "mixcal" / "mosaics"
    into.mkdir(parents=True, exist_ok=True)
    for entry in sorted(mosaics.iterdir()):
        if entry.is_dir() and entry.name not in SETS and not (into / entry.name).exists():
            try:
                (into / entry.name).symlink_to(entry.resolve())
            except FileExistsError:
                continue
    for name in SETS:
        unpack(name, mosaics, into)
    return into


if __name__ == "__main__":
    print(unpacked(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
