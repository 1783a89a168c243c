"""Are generated images what was asked for? A classifier that never saw them names the pure ones.

    python benchmarks/class_agreement.py STORE RUN

The two ends of every finished set (λ̂ = 0 and 1) against the classes of its pair; the share named
right, with Wilson's 95 % interval, over all and class by class; and the classifier's own error.
"""

import json
import sys
from pathlib import Path

import numpy as np
from jaxtyping import Bool

from mixcal.data.mixed_store import MixedStore
from mixcal.exporting import bundle_of
from mixcal.serving.predictor import Predictor

Z = 1.96


def wilson(right: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    share, square = right / n, Z**2 / n
    middle = (share + square / 2) / (1 + square)
    half = Z / (1 + square) * (share * (1 - share) / n + square / (4 * n)) ** 0.5
    return middle - half, middle + half


def shown(name: str, right: Bool[np.ndarray, " n"]) -> str:
    """One line."""
    low, high = wilson(int(right.sum()), len(right))
    interval = f"({100 * low:.1f} to {100 * high:.1f})"
    return f"{name:<14}{100 * right.mean():6.1f} % {interval}, n = {len(right):,}"


def main(store_path: Path, run: Path) -> None:
    """Print the shares."""
    store = MixedStore.open(store_path)
    done = np.flatnonzero(store.done)
    images = np.concatenate([store.images[done, 0], store.images[done, -1]])
    asked = np.concatenate([store.pairs[done, 1], store.pairs[done, 0]])
    predictor = Predictor.of(bundle_of(run, rescaler="none"))
    right = predictor(images).argmax(1) == asked
    for label, name in enumerate(store.classes):
        if (asked == label).any():
            print(shown(name, right[asked == label]))
    print(shown("all", right))
    judged = json.loads((run / "judgement.json").read_text())["numbers"]["test"]
    print(f"the classifier's error on test: {100 * next(iter(judged.values()))['error']:.2f} %")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
