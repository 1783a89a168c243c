"""Other packages' calibration metrics on arrays of a folder, timed on demand.

Run by `benchmarks/judging.py` with the interpreter that MIXCAL_PEERS names; needs nothing of
mixcal. Answers each line, the name of a package, with one JSON object: `cpu_s`, `mib` (growth of
the resident memory at its highest), `values`, or `error` where it is not installed.
torch-uncertainty imports torchvision; where that does not fit the machine's torch, its compiled
operators are declared, never called.
"""

import json
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402
import torch  # noqa: E402

BINS = 15
OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


def torchmetrics(probs, labels):
    from torchmetrics.classification import MulticlassCalibrationError

    found = {}
    for name, norm in (("ece", "l1"), ("mce", "max")):
        metric = MulticlassCalibrationError(probs.shape[1], n_bins=BINS, norm=norm)
        metric.update(torch.from_numpy(probs), torch.from_numpy(labels))
        found[name] = metric.compute().item()
    return found


def torch_uncertainty(probs, labels):
    from torch_uncertainty.metrics.classification import (
        BrierScore,
        CalibrationError,
        CategoricalNLL,
    )

    classes = probs.shape[1]
    options = {"task": "multiclass", "num_classes": classes, "num_bins": BINS}
    metrics = {
        "ece": CalibrationError(**options),
        "adaptive_ece": CalibrationError(adaptive=True, **options),
        "mce": CalibrationError(norm="max", **options),
        "brier": BrierScore(num_classes=classes),
        "nll": CategoricalNLL(),
    }
    for metric in metrics.values():
        metric.update(torch.from_numpy(probs), torch.from_numpy(labels))
    return {name: metric.compute().item() for name, metric in metrics.items()}


def netcal(probs, labels):
    from netcal.metrics import ECE, MCE

    return {
        "ece": float(ECE(BINS).measure(probs, labels)),
        "mce": float(MCE(BINS).measure(probs, labels)),
        "adaptive_ece": float(ECE(BINS, equal_intervals=False).measure(probs, labels)),
    }


def scikit_learn(probs, labels):
    """`calibration_curve` returns no counts, so they are counted again."""
    from sklearn.calibration import calibration_curve
    from sklearn.metrics import brier_score_loss, log_loss

    classes = np.arange(probs.shape[1])
    confidence = probs.max(1)
    right = (probs.argmax(1) == labels).astype(int)
    found = {}
    for name, strategy in (("ece", "uniform"), ("adaptive_ece", "quantile")):
        share, mean = calibration_curve(right, confidence, n_bins=BINS, strategy=strategy)
        edges = np.linspace(0, 1, BINS + 1)
        if strategy == "quantile":
            edges = np.percentile(confidence, 100 * edges)
        counts = np.bincount(np.searchsorted(edges[1:-1], confidence), minlength=BINS)
        gaps = np.abs(share - mean)
        found[name] = float((gaps * counts[counts > 0]).sum() / len(labels))
        if strategy == "uniform":
            found["mce"] = float(gaps.max())
    found["brier"] = float(brier_score_loss(labels, probs, labels=classes, scale_by_half=False))
    found["nll"] = float(log_loss(labels, probs, labels=classes))
    return found


def mapie(probs, labels):
    """Its number of bins is that of edges."""
    from mapie.metrics.calibration import expected_calibration_error

    right, confidence = (probs.argmax(1) == labels).astype(int), probs.max(1)
    return {
        name: float(
            expected_calibration_error(
                right, confidence, num_bins=BINS + 1, split_strategy=strategy
            )
        )
        for name, strategy in (("ece", "uniform"), ("adaptive_ece", "quantile"))
    }


PACKAGES = {
    "torchmetrics": torchmetrics,
    "torch-uncertainty": torch_uncertainty,
    "netcal": netcal,
    "scikit-learn": scikit_learn,
    "MAPIE": mapie,
}


def resident(key: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) / 1024


def measured(name: str, probs: np.ndarray, labels: np.ndarray) -> dict:
    try:
        PACKAGES[name](probs[:2000].copy(), labels[:2000].copy())
    except ImportError as error:
        return {"error": f"not installed: {error}"}
    Path("/proc/self/clear_refs").write_text("5")
    before, began = resident("VmRSS"), time.process_time()
    values = PACKAGES[name](probs, labels)
    spent = time.process_time() - began
    return {
        "cpu_s": spent,
        "mib": resident("VmHWM") - before,
        "values": values,
        "version": version(name),
    }


def mend_torchvision() -> torch.library.Library | None:
    """Make it importable where its compiled part is not."""
    try:
        import torchvision  # noqa: F401
    except ModuleNotFoundError:
        return None
    except (RuntimeError, OSError, ImportError):
        for name in [name for name in sys.modules if name.startswith("torchvision")]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "FRAGMENT")
        for operator in OPERATORS:
            library.define(operator)
        return library
    return None


def main() -> None:
    torch.set_num_threads(1)
    kept = mend_torchvision()  # while it lives, so do its operators
    folder = Path(sys.argv[1])
    probs, labels = np.load(folder / "probs.npy"), np.load(folder / "labels.npy")
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(measured(line.strip(), probs, labels)), flush=True)
    del kept


if __name__ == "__main__":
    main()
