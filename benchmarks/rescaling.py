"""What fitting rescalers costs: temperature beside scikit-learn's, its precision, and all the rest.

    python benchmarks/rescaling.py [--json] [--repeats 3] [--skip-others]

CPU seconds of one thread; ours and scikit-learn's run in turns, and ratios are medians of pairs,
because machines are noisy. Memory is what NumPy and scikit-learn allocate beyond the input at most
(tracemalloc). The last line with --json is one JSON object:

- `temperature`: by size, `seconds`, `sklearn_seconds`, `over_sklearn` (their ratio), `mib` and
  `sklearn_mib` beyond the input, and `off`, |T / T* − 1| of both, on float32 logits;
- `worst_off`: the largest |T / T* − 1| for T* from 0.05 to 20, by precision of the logits; T* is
  the root of the slope of the log loss by Brent's method in float64;
- `others`: CPU seconds of fitting and of transforming 5,000 × 10 and 5,000 × 100, by rescaler.
"""

import argparse
import json
import statistics
import time
import tracemalloc
import warnings
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from mixcal.judging.rescaling.registry import RESCALERS, needs_features, transformed
from mixcal.judging.rescaling.temperature import Temperature

SIZES = ((50_000, 100), (50_000, 1_000))
TEMPERATURES = (0.05, 0.1, 0.2, 0.484, 1.0, 1.578, 3.0, 10.0, 20.0)
MIB = 1 << 20


def drawn(n: int, k: int, temperature: float, seed: int, dtype: type = np.float32):
    """Labels from softmax(z); the model reports T z."""
    generator = np.random.default_rng(seed)
    logits = np.empty((n, k), dtype)
    labels = np.empty(n, dtype=np.int64)
    scale = 1 + 0.9 * np.log10(k)
    for start in range(0, n, 5_000):
        z = generator.standard_normal((min(5_000, n - start), k)) * scale
        labels[start : start + len(z)] = (z + generator.gumbel(size=z.shape)).argmax(1)
        logits[start : start + len(z)] = temperature * z
    return logits, labels


def exact(logits: np.ndarray, labels: np.ndarray, near: float) -> float:
    """T*: the root of the slope in 1 / T, bracketed, in float64."""
    from scipy.optimize import brentq

    def slope(b: float) -> float:
        total = 0.0
        for start in range(0, len(logits), 2_000):
            z = logits[start : start + 2_000].astype(np.float64)
            z -= z.max(1, keepdims=True)
            e = np.exp(b * z)
            own = z[np.arange(len(z)), labels[start : start + 2_000]]
            total += float((np.vecdot(e, z) / e.sum(1) - own).sum())
        return total

    return 1 / brentq(slope, 0.7 / near, 1.4 / near, xtol=1e-12 / near, rtol=1e-12)


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def mib_beyond(work: Callable[[], object]) -> float:
    """The most that is allocated during a call."""
    tracemalloc.start()
    work()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / MIB


def scikit_learn(logits: np.ndarray, labels: np.ndarray) -> Callable[[], float]:
    """Its temperature scaling of a classifier whose decision function is the identity; gives T."""
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    class Logits(ClassifierMixin, BaseEstimator):
        def fit(self, x: np.ndarray, y: np.ndarray) -> "Logits":
            self.classes_ = np.arange(x.shape[1])
            return self

        def decision_function(self, x: np.ndarray) -> np.ndarray:
            return x

        def predict(self, x: np.ndarray) -> np.ndarray:
            return x.argmax(1)

    frozen = FrozenEstimator(Logits().fit(logits, labels))

    def fit() -> float:
        made = CalibratedClassifierCV(frozen, method="temperature").fit(logits, labels)
        return 1 / float(made.calibrated_classifiers_[0].calibrators[0].beta_)

    return fit


def beside_scikit_learn(n: int, k: int, repeats: int) -> dict[str, object]:
    """Ours and theirs in turns."""
    logits, labels = drawn(n, k, 1.8, seed=k)

    def ours() -> float:
        return Temperature.fit(logits, labels).temperature

    theirs = scikit_learn(logits, labels)
    found: dict[str, list[float]] = {"ours": [], "theirs": []}
    for turn in range(repeats + 1):
        for name, work in (("ours", ours), ("theirs", theirs)):
            spent = seconds(work)
            if turn:
                found[name].append(spent)
    ratios = [a / b for a, b in zip(found["ours"], found["theirs"], strict=True)]
    best = exact(logits, labels, 1.8)
    return {
        "seconds": round(statistics.median(found["ours"]), 3),
        "sklearn_seconds": round(statistics.median(found["theirs"]), 3),
        "over_sklearn": round(statistics.median(ratios), 4),
        "mib": round(mib_beyond(ours), 1),
        "sklearn_mib": round(mib_beyond(theirs), 1),
        "off": abs(ours() / best - 1),
        "sklearn_off": abs(theirs() / best - 1),
    }


def worst_off() -> dict[str, float]:
    """How far T is from T*, at worst."""
    worst = {}
    for dtype in (np.float32, np.float64):
        off = []
        for k in (2, 10, 100):
            for temperature in TEMPERATURES:
                logits, labels = drawn(4_000, k, temperature, seed=k, dtype=dtype)
                best = exact(logits, labels, temperature)
                off.append(abs(Temperature.fit(logits, labels).temperature / best - 1))
        worst[np.dtype(dtype).name] = max(off)
    return worst


def others(n: int, k: int) -> dict[str, list[float]]:
    """Fitting and transforming, by rescaler."""
    logits, labels = drawn(n, k, 1.8, seed=1)
    features = np.random.default_rng(0).standard_normal((n, 64)).astype(np.float32)
    found = {}
    for name, kind in RESCALERS.items():
        extra = {"features": features} if needs_features(name) else {}
        began = time.process_time()
        fitted = kind.fit(logits, labels, **extra)
        between = time.process_time()
        transformed(fitted, logits, features=features)
        ended = time.process_time()
        found[name] = [round(between - began, 3), round(ended - between, 3)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--skip-others", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    threadpool_limits(1)
    result: dict[str, object] = {
        "temperature": {f"{n}x{k}": beside_scikit_learn(n, k, options.repeats) for n, k in SIZES},
        "worst_off": worst_off(),
    }
    if not options.skip_others:
        result["others"] = {f"5000x{k}": others(5_000, k) for k in (10, 100)}
    if options.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(name)
            for key, entry in value.items():  # type: ignore[attr-defined]  # all are tables
                print(f"  {key:12s} {entry}")


if __name__ == "__main__":
    main()
