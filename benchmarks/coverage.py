"""How often the intervals hold the truth: models whose population error is known, drawn many times.

    python benchmarks/coverage.py [--json] [--replicates 1000] [--others 200] [--rows FOLDER]

A model draws a confidence c from its law and is right with probability a(c). The truth is the
binned error of the population, by quadrature over the same 15 bins. With --rows, one JSON file a
sample size is written there: docs/metrics.md makes its tables of them. The last line with --json is
one JSON object: per metric, model and sample size `covered`, `width`; for the calibrated model also
`null_band`, how often the band of `null_band` holds the observed ECE.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import betaincinv

from mixcal.judging.metrics.intervals import Estimate
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.metrics.reliability_intervals import (
    error_interval,
    null_band,
    reliability_intervals,
)

BINS, LEVEL = 15, 0.9
SIZES = (100, 500, 1000, 5000, 10_000)
QUADRATURE = 100_000
METRICS = ("ece", "oe", "ue", "rms_ce", "ace", "mce")


@dataclass(frozen=True, slots=True)
class Model:
    """Confidences 0.1 + 0.9 Beta(first, second), and how often each is right."""

    first: float
    second: float
    accuracy: Callable[[np.ndarray], np.ndarray]

    def confidences(self, levels: np.ndarray) -> np.ndarray:
        """The confidence at these quantiles."""
        return 0.1 + 0.9 * betaincinv(self.first, self.second, levels)

    def drawn(self, n: int, generator: np.random.Generator) -> Reliability:
        """The sums of n samples."""
        confidence = 0.1 + 0.9 * generator.beta(self.first, self.second, n)
        right = generator.random(n) < np.clip(self.accuracy(confidence), 0, 1)
        return Reliability.of_confidence(confidence, right, bins=BINS)

    def truth(self) -> dict[str, float]:
        """What the whole population shows in these bins."""
        confidence = self.confidences((np.arange(QUADRATURE) + 0.5) / QUADRATURE)
        gap = confidence - np.clip(self.accuracy(confidence), 0, 1)
        place = np.clip(np.ceil(confidence * BINS).astype(np.int64) - 1, 0, BINS - 1)
        share = np.bincount(place, minlength=BINS) / QUADRATURE
        part = np.bincount(place, gap, BINS) / QUADRATURE
        held = share > 0
        each = part[held] / share[held]
        return {
            "ece": float(np.abs(part).sum()),
            "oe": float(np.maximum(part, 0).sum()),
            "ue": float(np.maximum(-part, 0).sum()),
            "rms_ce": float(np.sqrt((share[held] * each**2).sum())),
            "ace": float(np.abs(each).mean()),
            "mce": float(np.abs(each).max()),
        }


MODELS: Mapping[str, Model] = {
    "calibrated": Model(4.0, 1.2, lambda c: c),
    "slightly over": Model(4.0, 1.2, lambda c: c - 0.03),
    "overconfident": Model(6.0, 0.7, lambda c: c - 0.15 * c**2),
    "underconfident": Model(3.0, 2.0, lambda c: c + 0.4 * c * (1 - c)),
    "both ways": Model(4.0, 1.2, lambda c: c + 0.08 * np.sin(2 * np.pi * (c - 0.1) / 0.9)),
    "one bin": Model(4.0, 1.2, lambda c: c - 0.25 * (c > 14 / 15)),
    # 0.07 % short of certainty, and wrong three times as often: next to no mistakes to see.
    "very sure": Model(400.0, 0.3, lambda c: c - 0.0015),
}


def covered(
    model: Model, n: int, *, replicates: int, metrics: tuple[str, ...] = METRICS, seed: int = 0
) -> dict[str, dict[str, float]]:
    """Per metric, the share of intervals that hold the truth and their mean width."""
    truth, generator = model.truth(), np.random.default_rng([seed, n])
    inside = dict.fromkeys(metrics, 0)
    width = dict.fromkeys(metrics, 0.0)
    for draw in range(replicates):
        found = intervals_of(model.drawn(n, generator), metrics, draw)
        for name in metrics:
            inside[name] += found[name].low <= truth[name] <= found[name].high
            width[name] += found[name].high - found[name].low
    return {
        name: {
            "truth": truth[name],
            "covered": inside[name] / replicates,
            "width": width[name] / replicates,
        }
        for name in metrics
    }


def intervals_of(sums: Reliability, metrics: tuple[str, ...], seed: int) -> dict[str, Estimate]:
    """The intervals of these metrics."""
    if metrics == ("ece",):  # alone it takes an eighth of the time
        return {"ece": error_interval(sums, "ece", level=LEVEL, seed=seed)}
    return reliability_intervals(sums, level=LEVEL, seed=seed)


def within_null_band(model: Model, n: int, *, replicates: int, seed: int = 0) -> float:
    """How often the band of a calibrated model holds the observed ECE."""
    generator = np.random.default_rng([seed, n])
    inside = 0
    for draw in range(replicates):
        sums = model.drawn(n, generator)
        band = null_band(sums, level=LEVEL, seed=draw, draws=1000)
        inside += band.low <= sums.expected_error() <= band.high
    return inside / replicates


def of_size(n: int, replicates: int, others: int) -> dict[str, Any]:
    """One sample size: every model, ECE by `replicates` draws, other metrics by `others`."""
    record: dict[str, Any] = {"n": n, "level": LEVEL, "bins": BINS, "replicates": replicates}
    record["others"] = others
    for name, model in MODELS.items():
        print(n, name, file=sys.stderr)
        found = covered(model, n, replicates=others)
        found |= covered(model, n, replicates=replicates, metrics=("ece",))
        record[name] = {metric: rounded(numbers) for metric, numbers in found.items()}
    record["null band"] = round(within_null_band(MODELS["calibrated"], n, replicates=replicates), 4)
    wrong = [record[name] for name in MODELS if name != "calibrated"]
    record["lowest"] = {
        metric: min(model[metric]["covered"] for model in wrong) for metric in METRICS
    }
    return record


def rounded(numbers: dict[str, float]) -> dict[str, float]:
    """Four digits after the point."""
    return {name: round(value, 4) for name, value in numbers.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--others", type=int, default=200, help="replicates of other metrics")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rows", type=Path, help="a folder for one file a sample size")
    options = parser.parse_args()
    records = {}
    for n in options.sizes:
        records[str(n)] = of_size(n, options.replicates, options.others)
        if options.rows is not None:
            options.rows.mkdir(parents=True, exist_ok=True)
            path = options.rows / f"{n:06d}.json"
            path.write_text(json.dumps(records[str(n)], indent=2) + "\n")
    if options.json:
        print(json.dumps(records))
    else:
        for n, record in records.items():
            print(n, record["lowest"], "null band", record["null band"])


if __name__ == "__main__":
    main()
