"""What somebody who follows the documentation has in their folder by then."""

import warnings
from pathlib import Path

import numpy as np

from mixcal.cli import main
from mixcal.core.predictions import Predictions
from tests.support.pictures import class_folders, save

SHORT = (
    "--set",
    "method.steps=30",
    "--set",
    "method.epoch_steps=10",
    "--set",
    "running.log_every=10",
    "--set",
    "running.checkpoint_every=10",
)


def filled(folder: Path) -> Path:
    """photos/ (class folders, unlabeled, test), new/ (pictures to predict), two runs, predictions.

    Class folders and prediction files are made up; the runs are real ones of 30 steps.
    """
    counts = {"daisy": 10, "rose": 10}
    class_folders(folder / "photos" / "train", counts, size=(24, 24))
    class_folders(folder / "photos" / "unlabeled", {"": 16}, size=(24, 24))
    class_folders(folder / "photos" / "test", {"daisy": 6, "rose": 6}, size=(24, 24))
    for number in range(3):
        save(folder / "new" / f"{number}.jpg", np.full((30, 40, 3), 60 * number, np.uint8))
    for name, seed in (("predictions", 0), ("validation", 1), ("other", 2)):
        made_up(seed, split="validation" if name == "validation" else "test").save(
            folder / f"{name}.npz"
        )
    for seed in (0, 1):
        trained(folder / "runs" / f"digits-s{seed}", seed)
    return folder


def made_up(seed: int, *, split: str) -> Predictions:
    """Overconfident predictions of 600 samples in three classes, with features."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(3, size=600)
    features = generator.normal(size=(600, 4)).astype(np.float32)
    logits = generator.normal(size=(600, 3)) * 1.5 + 2.0 * np.eye(3)[labels]
    return Predictions(
        scores=(2 * logits).astype(np.float32),
        kind="logits",
        labels=labels,
        classes=("a", "b", "c"),
        ids=np.arange(600),
        split=split,
        source="made up",
        features=features,
    )


def trained(into: Path, seed: int) -> None:
    shown = warnings.showwarning
    words = ["train", "--into", str(into), *SHORT, "--set", f"method.seed={seed}"]
    try:
        assert main([*words, "--set", 'method.data.validation="labels"']) == 0
    finally:
        warnings.showwarning = shown
