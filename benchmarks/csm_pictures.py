"""The pictures of docs/evidence/csm.md, once its study has run.

    python benchmarks/csm_pictures.py RUNS STORE

RUNS holds the study's run folders (runs/studies/csm), STORE is the annotated store of mixed images.
"""

import json
import shutil
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from mixcal.cli import main as mixcal
from mixcal.study_table import title

ROWS = Path("docs/evidence/rows/csm")
INTO = Path("docs/pictures")
RELIABILITY = ("cross-entropy", "mixup", "generation_labels", "CSM")
OVER_EPOCHS = ("cross-entropy", "mixup", "CSM")
METRICS = ("nll", "oe_15")


def over_epochs(rows: Path, variant: str, metric: str) -> np.ndarray:
    """The mean over seeds of a metric on validation, evaluation by evaluation."""
    found = defaultdict(list)
    for path in sorted(rows.glob(f"{variant}-s[0-9]*.json")):
        for line in json.loads(path.read_text())["evaluations"]:
            if line["split"] == "validation":
                found[line["step"]].append(line[metric])
    return np.array([np.mean(found[step]) for step in sorted(found)])


def main(runs: Path, store: Path) -> int:
    """Make all three."""
    INTO.mkdir(exist_ok=True)
    shutil.copyfile(store / "sheet.png", INTO / "csm-sheet.png")
    diagrams = ["--kind", "reliability", "--into", str(INTO / "csm-reliability.png"), "--overwrite"]
    chosen = [str(runs / f"{variant}-s0") for variant in RELIABILITY]
    if status := mixcal(["plot", *chosen, "--predictions", "test-raw", *diagrams]):
        return status
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    for axis, metric in zip(figure.subplots(1, 2), METRICS, strict=True):
        for variant in OVER_EPOCHS:
            values = over_epochs(ROWS, variant, metric)
            axis.plot(np.arange(1, len(values) + 1), values, label=variant)
        axis.set_xlabel("epoch")
        axis.set_ylabel(title(metric).replace(" %", ""))
        axis.legend()
    figure.savefig(INTO / "csm-epochs.png", dpi=110)
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:3])))
