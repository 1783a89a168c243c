"""What the metrics cost: beside plain NumPy and other packages, and their memory.

    python benchmarks/judging.py [--json] [--repeats 5] [--small] [--rows FOLDER]

CPU seconds of one thread; works run in turns and ratios are medians of pairs, because machines are
noisy. With MIXCAL_PEERS naming a Python (or its environment's folder) that has them, torchmetrics,
netcal, torch-uncertainty, scikit-learn and MAPIE join in, each with those of the metrics it has.
The last line with --json is one JSON object:

- per size (samples x classes, float32 probabilities): `mixcal_s`, ECE, adaptive ECE, MCE, Brier and
  NLL together; `over_numpy`, the same with every check of the input (`checked_over_numpy`);
  `extra_mib` beyond the input; per peer its `speedup` (its seconds over ours for all five), its
  seconds, MiB and metrics, and how far its values are from ours by its convention; the same of
  classwise ECE against NumPy;
- `state_bytes`: what a stream keeps after few and after many samples; `classwise_state`, numbers;
- `forty_million`: the ECE of 40,000,000 equal predictions, which float32 sums get wrong;
- `bootstrap_s`: 1,000 paired replicates of an ECE difference on 10,000 x 10;
- `import_s` over `import torch`, and which of matplotlib, sklearn, scipy it pulls in.

With --rows, one JSON file a package is written there: docs/metrics.md makes its table of them.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.turns import THREADS, Peer, grown_mib, in_turns, peers_python, ratio, seconds
from mixcal.core.predictions import Predictions, softmax
from mixcal.judging.metrics.classwise import ClasswiseReliability
from mixcal.judging.metrics.equal_mass import adaptive_error
from mixcal.judging.metrics.paired import paired_difference
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.samples import Samples
from mixcal.judging.summary import summarized

BINS = 15
SIZES = ((1_000_000, 10), (50_000, 1_000))
SMALL = ((20_000, 10), (1_000, 1_000))
PEERS = ("torchmetrics", "torch-uncertainty", "netcal", "scikit-learn", "MAPIE")
HEAVY = ("matplotlib", "sklearn", "scipy")


def drawn(n: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels from a softmax; the model claims more than it knows on half of the samples."""
    generator = np.random.default_rng(seed)
    scale = 1 + 0.9 * np.log10(k)
    probs, labels = np.empty((n, k), np.float32), np.empty(n, np.int64)
    for start in range(0, n, 20_000):
        part = slice(start, min(start + 20_000, n))
        logits = scale * generator.standard_normal((part.stop - part.start, k), dtype=np.float32)
        below = softmax(logits).cumsum(1) < generator.random((len(logits), 1))
        labels[part] = np.minimum(below.sum(1), k - 1)
        logits *= np.where(np.arange(len(logits)) % 2 == 0, 1.5, 1.1).astype(np.float32)[:, None]
        probs[part] = softmax(logits)
    return probs, labels


def by_numpy(probs: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """All five as a careful person writes them in a dozen lines."""
    n, confidence = len(labels), probs.max(1)
    right = probs.argmax(1) == labels
    place = np.clip(np.ceil(confidence * BINS).astype(np.int64) - 1, 0, BINS - 1)
    counts = np.bincount(place, minlength=BINS)
    gaps = np.abs(np.bincount(place, confidence, BINS) - np.bincount(place, right, BINS))
    order = np.argsort(confidence, kind="stable")
    starts = np.linspace(0, n, BINS + 1).astype(np.int64)[:-1]
    runs = np.add.reduceat(confidence[order].astype(np.float64) - right[order], starts)
    own = probs[np.arange(n), labels]
    squares = np.einsum("ij,ij->", probs, probs, dtype=np.float64)
    return {
        "ece": float(gaps.sum() / n),
        "mce": float((gaps / np.maximum(counts, 1)).max()),
        "adaptive_ece": float(np.abs(runs).sum() / n),
        "brier": float(squares / n - 2 * own.mean(dtype=np.float64) + 1),
        "nll": float(-np.log(np.maximum(own, 1e-38)).mean(dtype=np.float64)),
    }


def by_mixcal(probs: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """All five by the parts of the library."""
    samples = Samples.of_scores(probs, labels, "probs")
    sums = Reliability.of_confidence(samples.confidence, samples.right, bins=BINS)
    return {
        "ece": sums.expected_error(),
        "mce": sums.maximum_error(),
        "adaptive_ece": adaptive_error(samples.confidence, samples.right, bins=BINS),
        "brier": float(samples.brier.mean()),
        "nll": float(samples.log_loss.mean()),
    }


def classwise_by_numpy(probs: np.ndarray, labels: np.ndarray) -> float:
    """Classwise ECE, two thousand rows at a time."""
    n, k = probs.shape
    gaps, offset = np.zeros(k * BINS), np.arange(k) * BINS
    for start in range(0, n, 2000):
        part, own = probs[start : start + 2000], labels[start : start + 2000]
        place = np.clip(np.ceil(part * BINS).astype(np.int64) - 1, 0, BINS - 1) + offset
        gaps += np.bincount(place.ravel(), part.ravel(), k * BINS)
        gaps -= np.bincount(place[np.arange(len(own)), own], minlength=k * BINS)
    return float(np.abs(gaps).sum() / n / k)


def of_size(n: int, k: int, repeats: int, folder: Path) -> dict[str, Any]:
    """Everything about arrays of one size."""
    probs, labels = drawn(n, k, seed=k)
    values = by_mixcal(probs, labels)
    for name, value in by_numpy(probs, labels).items():
        assert abs(value / values[name] - 1) < 1e-5, name
    works = {
        "mixcal": lambda: seconds(lambda: by_mixcal(probs, labels)),
        "checked": lambda: seconds(
            lambda: by_mixcal(Predictions.of(labels, probs=probs).scores, labels)
        ),
        "numpy": lambda: seconds(lambda: by_numpy(probs, labels)),
        "classwise": lambda: seconds(
            lambda: ClasswiseReliability.of(probs, labels, bins=BINS).expected_error()
        ),
        "classwise numpy": lambda: seconds(lambda: classwise_by_numpy(probs, labels)),
    }
    np.save(folder / "probs.npy", probs)
    np.save(folder / "labels.npy", labels)
    answers: dict[str, list[dict[str, Any]]] = {}
    peers = started(folder)

    def asked(name: str) -> float:
        answers.setdefault(name, []).append(peers[name].ask(name))
        return answers[name][-1].get("cpu_s", float("nan"))

    works |= {name: lambda name=name: asked(name) for name in peers}
    spent = in_turns(works, repeats)
    for peer in peers.values():
        peer.close()
    return {
        "mixcal_s": round(statistics.median(spent["mixcal"]), 4),
        "over_numpy": round(ratio(spent["mixcal"], spent["numpy"]), 3),
        "checked_over_numpy": round(ratio(spent["checked"], spent["numpy"]), 3),
        "extra_mib": round(grown_mib(lambda: by_mixcal(probs, labels)), 1),
        "classwise_s": round(statistics.median(spent["classwise"]), 4),
        "classwise_over_numpy": round(ratio(spent["classwise"], spent["classwise numpy"]), 3),
        "classwise_extra_mib": round(grown_mib(lambda: ClasswiseReliability.of(probs, labels)), 1),
        "peers": {
            name: beside(name, answers[name], spent, Predictions.of(labels, probs=probs))
            for name in peers
        },
    }


def started(folder: Path) -> dict[str, Peer]:
    """One process a package."""
    python = peers_python()
    if python is None:
        print("MIXCAL_PEERS is not set: no comparison with other packages", file=sys.stderr)
        return {}
    return {name: Peer(python, "judging_metrics.py", folder) for name in PEERS}


def beside(
    name: str,
    answers: list[dict[str, Any]],
    spent: dict[str, list[float]],
    predictions: Predictions,
) -> dict[str, Any]:
    """One package's line."""
    last = answers[-1]
    if "error" in last:
        return {"error": last["error"]}
    bins = BINS + (name == "MAPIE")
    ours = summarized(predictions, bins=bins, like=name)["metrics"]
    apart = {metric: abs(v / ours[metric]["value"] - 1) for metric, v in last["values"].items()}
    return {
        "version": last["version"],
        "speedup": round(ratio(spent[name], spent["mixcal"]), 2),
        "cpu_s": round(statistics.median(spent[name]), 4),
        "mib": round(max(answer["mib"] for answer in answers), 1),
        "metrics": list(last["values"]),
        "apart_from_like": float(f"{max(apart.values()):.1e}"),
    }


def state_bytes() -> dict[str, int]:
    """What a stream keeps, after a thousand and after a million samples."""
    probs, labels = drawn(1000, 10, seed=0)
    found, total = {}, Reliability.empty(BINS)
    for batches in (1, 999):
        for _ in range(batches):
            total += Reliability.of(probs, labels, bins=BINS)
        held = (total.counts, total.right, total.confidence)
        more = (total.confidence_squared, total.confidence_of_right)
        found[str(total.n)] = sum(array.nbytes for array in (*held, *more))
    return found


def classwise_state() -> dict[str, int]:
    """Numbers kept for a thousand classes: classes x bins x 3."""
    kept = ClasswiseReliability.of(*drawn(200, 1000, seed=0), bins=BINS)
    return {"1000": kept.counts.size + kept.positives.size + kept.confidence.size}


def forty_million() -> dict[str, Any]:
    """Two classes, 0.625 each time, half of them right: the ECE is 0.125."""
    confidence, right = np.full(1_000_000, 0.625, np.float32), np.arange(1_000_000) % 2 == 0
    total = Reliability.empty(BINS)
    for _ in range(40):
        total += Reliability.of_confidence(confidence, right, bins=BINS)
    return {"n": total.n, "right": int(total.right.sum()), "ece": total.expected_error()}


def bootstrap_seconds(repeats: int) -> float:
    """Both models' samples and a thousand replicates."""
    probs, labels = drawn(10_000, 10, seed=6)
    other = softmax(0.7 * np.log(probs))

    def compare() -> None:
        first, second = (Samples.of_scores(p, labels, "probs") for p in (probs, other))
        paired_difference(first, second, "ece", bins=BINS, replicates=1000)

    spent = in_turns({"paired": lambda: seconds(compare)}, repeats)
    return round(statistics.median(spent["paired"]), 4)


def importing(repeats: int) -> dict[str, Any]:
    """In fresh processes."""
    script = (
        "import json, sys, time, torch; began = time.process_time(); "
        "import mixcal.judging.summary; spent = time.process_time() - began; "
        f"print(json.dumps([spent, [m for m in {HEAVY} if m in sys.modules]]))"
    )
    # The package that this process imports.
    source = str(Path(sys.modules["mixcal"].__file__ or "").parent.parent)
    env = os.environ | {"PYTHONPATH": source}
    runs = []
    for _ in range(repeats):
        words = [sys.executable, "-c", script]
        done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
        runs.append(json.loads(done.stdout))
    return {"import_s": round(statistics.median(r[0] for r in runs), 3), "pulls_in": runs[0][1]}


def write_rows(result: dict[str, Any], folder: Path) -> None:
    """Per package what it has, and per size what that cost."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes = {name: value for name, value in result.items() if "x" in name and "peers" in value}
    packages: dict[str, dict[str, Any]] = {}
    for size, found in sizes.items():
        ours = {"cpu_s": found["mixcal_s"], "mib": found["extra_mib"], "speedup": 1.0}
        plain = {"speedup": round(1 / found["over_numpy"], 2)}
        for name, line in {"mixcal": ours, "plain NumPy": plain, **found["peers"]}.items():
            own = packages.setdefault(name, {"package": name, "metrics": "all five"})
            if "metrics" in line and len(line["metrics"]) < 5:
                own["metrics"] = ", ".join(line["metrics"])
            own["version"] = line.get("version", "")
            own[size] = {key: line[key] for key in ("cpu_s", "mib", "speedup") if key in line}
    for place, (name, row) in enumerate(packages.items()):
        path = folder / f"{place}-{name.lower().replace(' ', '-')}.json"
        path.write_text(json.dumps(row, indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=Path, help="a folder for one file a package")
    parser.add_argument("--small", action="store_true", help="small arrays, to see that it works")
    options = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in THREADS):
        os.execve(
            sys.executable, [sys.executable, *sys.argv], os.environ | dict.fromkeys(THREADS, "1")
        )
    result: dict[str, Any] = {"repeats": options.repeats, "numpy": np.__version__, "bins": BINS}
    for n, k in SMALL if options.small else SIZES:
        with tempfile.TemporaryDirectory() as folder:
            result[f"{n}x{k}"] = of_size(n, k, options.repeats, Path(folder))
    result |= {"state_bytes": state_bytes(), "classwise_state": classwise_state()}
    result |= {"forty_million": forty_million(), "bootstrap_s": bootstrap_seconds(options.repeats)}
    result |= importing(min(options.repeats, 3))
    if options.rows is not None:
        write_rows(result, options.rows)
    if options.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:24s} {json.dumps(value, indent=2)}")


if __name__ == "__main__":
    main()
