"""A .npz file of arrays: train_images, train_labels (−1: unlabeled), test_images, test_labels."""

import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Shaped

from mixcal.core.errors import BadInput
from mixcal.data.archives import DAMAGE, damaged
from mixcal.data.options import DataOptions
from mixcal.data.reading import Reading
from mixcal.data.source import Source
from mixcal.data.sources.arrays import source_from_arrays
from mixcal.data.sources.variant import statistics, words

KEYS = (
    "train_images, train_labels (or images, labels); test_images, test_labels; validation_images, "
    "validation_labels; classes"
)


def read_npz(options: DataOptions, reading: Reading) -> Source:
    """A person's own arrays in one file, perhaps with a second file of test data."""
    path = Path(options.path).expanduser()
    if options.unlabeled_path:
        raise BadInput(
            f"{path}: method.data.unlabeled_path is for folders; put unlabeled images into the "
            ".npz with the label -1."
        )
    arrays = plain_names(read_arrays(path), "train")
    if options.test_path:
        test = plain_names(read_arrays(Path(options.test_path).expanduser()), "test")
        arrays |= {key: value for key, value in test.items() if key.startswith("test_")}
    images, labels = arrays.get("train_images"), arrays.get("train_labels")
    if images is None or labels is None:
        missing = "train_images" if images is None else "train_labels"
        raise BadInput(f"{path} has no array {missing!r}; it may hold {KEYS}.")
    source = source_from_arrays(
        images,
        labels,
        test_images=arrays.get("test_images"),
        test_labels=arrays.get("test_labels"),
        validation_images=arrays.get("validation_images"),
        validation_labels=arrays.get("validation_labels"),
        classes=[str(name) for name in arrays.get("classes", ())],
        name=path.name,
    )
    channels = 1 if images.ndim == 3 else images.shape[3]
    mean, std = statistics(words(options), None, channels=channels)
    return replace(source, mean=mean, std=std)


def read_arrays(path: Path) -> dict[str, Shaped[np.ndarray, "..."]]:
    """All arrays of a .npz file; nothing in it is ever run."""
    if not path.is_file():
        raise BadInput(f"There is no file {path}; give the path of a .npz.")
    if not zipfile.is_zipfile(path):
        with open(path, "rb") as file:
            if file.read(6) == b"\x93NUMPY":
                raise BadInput(f"{path} is one array, not a .npz; save it with numpy.savez.")
        raise damaged(path, ValueError("it is no .npz"))
    try:
        # A file of ours: numpy leaves its own open when it gives up.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            return {key: arrays[key] for key in arrays.files}
    except ValueError as error:
        if "allow_pickle" in str(error):
            raise BadInput(
                f"{path} holds Python objects, which are never loaded; save plain arrays (class "
                "names as text, not as objects)."
            ) from None
        raise damaged(path, error) from None
    # zipfile says RuntimeError of what seems encrypted.
    except (*DAMAGE, MemoryError, KeyError, RuntimeError) as error:
        raise damaged(path, error) from None


def plain_names(arrays: Mapping[str, np.ndarray], split: str) -> dict[str, np.ndarray]:
    """`images` and `labels` under the names that say which split they are."""
    return {
        f"{split}_{key}" if key in ("images", "labels") else key: value
        for key, value in arrays.items()
    }
