"""What the diagrams of a page draw: sums for every number of bins, so a slider needs no samples.

The page draws, and computes the ECE it shows, from the sums of `Reliability` alone. Its size does
not grow with the number of samples.
"""

import math
from dataclasses import asdict
from typing import Any

import numpy as np
from jaxtyping import Int

from mixcal.judging.metrics.equal_mass import equal_mass
from mixcal.judging.metrics.intervals import normal_quantile, wilson
from mixcal.judging.metrics.ranking import risk_coverage
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.metrics.reliability_intervals import error_interval, null_band, null_gaps
from mixcal.judging.metrics.smooth import smooth_curve
from mixcal.judging.report.judged import Judged
from mixcal.judging.samples import Samples

FEWEST_BINS, MOST_BINS = 2, 30
# Points of the risk-coverage curve; classes up to which a confusion matrix is drawn whole.
POINTS, WHOLE_MATRIX, MOST_PAIRS = 160, 25, 30
# Share of the largest density below which the smooth curve is not drawn.
THINNEST = 0.005
DIGITS = 7
DRAWS = 1000


def figure(judged: Judged) -> dict[str, Any]:
    """Everything a page draws of one set of predictions, ready for JSON."""
    samples = Samples.of(judged.predictions)
    level = float(judged.summary["level"])
    confidence, right = samples.confidence, samples.right
    shown = range(FEWEST_BINS, MOST_BINS + 1)
    width = {m: Reliability.of_confidence(confidence, right, bins=m) for m in shown}
    mass = {m: equal_mass(confidence, right, bins=m) for m in shown}
    return {
        "title": judged.title,
        "n": len(samples),
        "level": level,
        "width": {m: binned(sums, level) | chances(sums, judged) for m, sums in width.items()},
        "mass": {m: binned(sums, level) for m, sums in mass.items()},
        "smooth": smoothed(judged, samples, level),
        "risk": risk(samples),
        "confusion": confusion(judged),
        "classes": by_predicted_class(judged, samples),
        "metrics": judged.summary["metrics"],
    }


def binned(sums: Reliability, level: float) -> dict[str, Any]:
    """The sums of every bin, its edges, the interval of its accuracy, and the calibrated band."""
    # Of empty bins nothing is drawn.
    counts = np.maximum(sums.counts, 1).astype(np.float64)
    low, high = wilson(sums.right.astype(np.float64), counts, normal_quantile(level))
    band_low, band_high = null_gaps(sums, level=level)
    return {
        "edges": list(sums.partition.edges),
        "counts": sums.counts.tolist(),
        "right": sums.right.tolist(),
        "confidence": sums.confidence.tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
        "band_low": band_low.tolist(),
        "band_high": band_high.tolist(),
    }


def chances(sums: Reliability, judged: Judged) -> dict[str, Any]:
    """The interval of the ECE, and between what a calibrated model's lies; fewer draws do here."""
    summary = judged.summary
    if sums.bins == summary["bins"]:
        found, band = summary["metrics"]["ece"], summary["null_band"]
    else:
        level = float(summary["level"])
        found = asdict(error_interval(sums, level=level))
        band = asdict(null_band(sums, level=level, draws=DRAWS))
    return {"interval": [found["low"], found["high"]], "null": [band["low"], band["high"]]}


def smoothed(judged: Judged, samples: Samples, level: float) -> dict[str, Any]:
    """The smooth diagram: accuracy against confidence, with its band and the density."""
    curve = smooth_curve(samples.confidence, samples.right)
    half = normal_quantile(level) * curve.spread
    # Where next to nothing lies, the curve means nothing.
    held = curve.mass > THINNEST * curve.mass.max()
    return {
        "confidence": curve.confidence[held].tolist(),
        "accuracy": curve.accuracy[held].tolist(),
        "low": np.clip(curve.accuracy - half, 0, 1)[held].tolist(),
        "high": np.clip(curve.accuracy + half, 0, 1)[held].tolist(),
        "mass": (curve.mass / curve.mass.max())[held].tolist(),
        "bandwidth": curve.bandwidth,
        "error": judged.summary["metrics"]["smooth_ece"],
    }


def risk(samples: Samples) -> dict[str, Any]:
    """The risk-coverage curve at evenly spaced coverages."""
    coverage, errors = risk_coverage(samples.confidence, samples.right)
    chosen = thinned(len(coverage), POINTS)
    return {"coverage": coverage[chosen].tolist(), "risk": errors[chosen].tolist()}


def confusion(judged: Judged) -> dict[str, Any]:
    """Counts of true against predicted class; of many classes the most confused pairs only."""
    predictions = judged.predictions
    k = predictions.scores.shape[1]
    predicted = predictions.scores.argmax(1)
    names = list(predictions.classes)
    key, counts = np.unique(predictions.labels * k + predicted, return_counts=True)
    true, said = key // k, key % k
    if k <= WHOLE_MATRIX:
        whole = np.zeros((k, k), dtype=np.int64)
        whole[true, said] = counts
        return {"names": names, "matrix": whole.tolist()}
    wrong = np.flatnonzero(true != said)
    worst = wrong[np.argsort(-counts[wrong], kind="stable")[:MOST_PAIRS]]
    return {"pairs": [[names[true[i]], names[said[i]], int(counts[i])] for i in worst]}


def by_predicted_class(judged: Judged, samples: Samples) -> list[list[Any]]:
    """Name, how often it is predicted, mean confidence and accuracy then; widest gap first."""
    predictions = judged.predictions
    k = predictions.scores.shape[1]
    predicted = predictions.scores.argmax(1)
    counts = np.bincount(predicted, minlength=k)
    claimed = np.bincount(predicted, samples.confidence, k) / np.maximum(counts, 1)
    right = np.bincount(predicted, samples.right, k) / np.maximum(counts, 1)
    order = np.argsort(-counts * np.abs(claimed - right), kind="stable")[:WHOLE_MATRIX]
    return [
        [predictions.classes[c], int(counts[c]), float(claimed[c]), float(right[c])]
        for c in order
        if counts[c]
    ]


def thinned(n: int, most: int) -> Int[np.ndarray, " _"]:
    """At most so many positions of n, evenly spread, both ends included."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


def compact(value: Any) -> Any:
    """Floats to seven significant digits, NaN and infinities to null, at any depth."""
    return finite(value, digits=DIGITS)


def finite(value: Any, *, digits: int = 17) -> Any:
    """NaN and infinities to null, at any depth; so many significant digits are kept."""
    if isinstance(value, float):
        return float(f"{value:.{digits}g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(entry, digits=digits) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite(entry, digits=digits) for entry in value]
    return value
