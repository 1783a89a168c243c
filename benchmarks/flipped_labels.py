"""Do small margins find wrong labels? Fashion-MNIST with a tenth of the training labels flipped.

    MIXCAL_DATA=FOLDER python benchmarks/flipped_labels.py --write docs/evidence/rows/flipped-labels

Flips labels to another class, uniformly; trains the recipe laptop/fashion-flipped; ranks the
training samples by their average margin of the given label in training (area under the margin).
AUROC: how often a flipped label stands below a true one. Its interval resamples the samples.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from mixcal.build import open_source
from mixcal.cli import main as mixcal
from mixcal.core.margins import Margins
from mixcal.data.options import DataOptions
from mixcal.recipe import Method, Running

RECIPE = Path(__file__).parent.parent / "recipes" / "laptop" / "fashion-flipped.toml"
SHARE = 0.1
RESAMPLES = 200


def flipped_file(path: Path, data_folder: str, *, seed: int, limit: int) -> np.ndarray:
    """Write the arrays with flipped labels; which of the training labels are flipped."""
    method = Method(data=DataOptions(source="fashion-mnist"), steps=1)
    source = open_source(method, Running(data_folder=data_folder))
    assert source.test is not None
    draws = np.random.default_rng(seed)
    chosen = draws.permutation(len(source.train))[: limit or None]
    labels = source.train.labels[chosen].copy()
    flipped = np.zeros(len(chosen), dtype=bool)
    flipped[draws.permutation(len(chosen))[: round(SHARE * len(chosen))]] = True
    classes = len(source.classes)
    labels[flipped] = (labels[flipped] + draws.integers(1, classes, flipped.sum())) % classes
    few = np.arange(min(1_000, len(source.test)))
    np.savez(
        path,
        train_images=source.train.take(chosen).permute(0, 2, 3, 1).numpy(),
        train_labels=labels,
        test_images=source.test.take(few).permute(0, 2, 3, 1).numpy(),
        test_labels=source.test.labels[few],
        classes=np.array(source.classes),
    )
    return flipped


def measured(data_folder: str, *, seed: int = 0, limit: int = 0, epochs: int = 0) -> dict:
    """One run's record."""
    with tempfile.TemporaryDirectory() as folder:
        file, run = Path(folder) / "flipped.npz", Path(folder) / "run"
        flipped = flipped_file(file, data_folder, seed=seed, limit=limit)
        words = ["train", str(RECIPE), "--into", str(run), "--set", f"method.data.path={file}"]
        words += ["--set", f"method.seed={seed}"]
        words += ["--set", f"method.epochs={epochs}"] if epochs else []
        began = time.process_time()
        if mixcal(words):
            raise SystemExit("training failed; see above")
        seconds = time.process_time() - began
        found = Margins.load(run / "margins.npz")
    # Positions in the training arrays are the ids.
    truth, score = flipped[found.ids.astype(np.int64)], -found.margin
    draws = np.random.default_rng(0)
    again = []
    for _ in range(RESAMPLES):
        some = draws.integers(0, len(truth), len(truth))
        again.append(roc_auc_score(truth[some], score[some]))
    low, high = np.quantile(again, (0.025, 0.975))
    first = np.argsort(-score, kind="stable")[: truth.sum()]
    return {
        "seed": seed,
        "samples": len(truth),
        "flipped": int(truth.sum()),
        "visits": float(found.visits.mean()),
        "auroc": round(float(roc_auc_score(truth, score)), 4),
        "interval": f"{low:.4f} – {high:.4f}",
        "flipped_among_hardest_tenth": round(float(truth[first].mean()), 4),
        "cpu_minutes": round(seconds / 60, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--limit", type=int, default=0, help="so many training images (0: all)")
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    for seed in options.seeds:
        folder = os.environ.get("MIXCAL_DATA", "")
        record = measured(folder, seed=seed, limit=options.limit)
        print(json.dumps(record, ensure_ascii=False))
        sys.stdout.flush()
        if options.write is not None:
            options.write.mkdir(parents=True, exist_ok=True)
            text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
            (options.write / f"s{seed}.json").write_text(text)


if __name__ == "__main__":
    main()
