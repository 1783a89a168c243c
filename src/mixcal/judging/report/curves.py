"""Training curves out of the lines of a run's log: what is drawn together, and how it is called."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mixcal.judging.report.figures import thinned

Line = Mapping[str, Any]
MOST_POINTS = 300


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a chart."""

    name: str
    steps: list[float]
    values: list[float]


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines that share an axis; `percent` says that the values are shares."""

    title: str
    note: str
    percent: bool
    curves: list[Curve]


def charts(log: Sequence[Line]) -> list[dict[str, Any]]:
    """The charts of a run for which its log holds at least two points, ready for JSON."""
    training = [line for line in log if "split" not in line]
    evaluations = _by_network(log)
    losses = sorted({key for line in training for key in line if key.startswith("loss_")})
    made = [
        Chart(
            "Losses",
            "Means between two lines of the log, already weighted.",
            False,
            [_curve(training, key, key.removeprefix("loss_")) for key in losses],
        ),
        Chart(
            "Error",
            "On the labeled samples of the batches, and where evaluated.",
            True,
            [
                _curve(training, "labeled_error", "labeled"),
                *(_curve(lines, "error", name) for name, lines in evaluations.items()),
            ],
        ),
        Chart(
            "Expected calibration error",
            "15 bins of equal width.",
            True,
            [_curve(lines, "ece_15", name) for name, lines in evaluations.items()],
        ),
        Chart(
            "Confidence in training",
            "Mean confidence on labeled and pseudo-labeled samples.",
            True,
            [
                _curve(training, "labeled_confidence", "labeled"),
                _curve(training, "pseudo_confidence", "pseudo-labels"),
            ],
        ),
        Chart(
            "Purity of the pseudo-labels",
            "The share that is right among the unlabeled samples whose label is known: hidden from "
            "training, but for labeled samples, which count where they are among them, too.",
            True,
            [
                _curve(training, "impurity_all", "all", flipped=True),
                _curve(training, "impurity_kept", "those that count", flipped=True),
                _curve(training, "kept_fraction", "share that counts"),
            ],
        ),
        Chart(
            "Margins of easy and hard samples",
            "Average margins of the halves of the batches that mixing tells apart.",
            False,
            [
                _curve(training, f"margin_{split}_{half}", f"{split}, {half}")
                for split in ("labeled", "unlabeled")
                for half in ("easy", "hard")
            ],
        ),
        Chart(
            "Wrong partners",
            "The share of mixes that hold a wrong pseudo-label, where hidden labels tell.",
            True,
            [_curve(training, "wrong_partners", "wrong")],
        ),
    ]
    kept = [_with_points(chart) for chart in made]
    return [asdict(chart) for chart in kept if chart.curves]


def _by_network(log: Sequence[Line]) -> dict[str, list[Line]]:
    """The evaluations of each split and kind of weights."""
    found: dict[str, list[Line]] = {}
    for line in log:
        if "split" in line:
            found.setdefault(f"{line['split']}, {line['weights']}", []).append(line)
    return found


def _with_points(chart: Chart) -> Chart:
    curves = [curve for curve in chart.curves if len(curve.values) > 1]
    if chart.title.startswith("Purity") and all(c.name == "share that counts" for c in curves):
        curves = []
    return Chart(chart.title, chart.note, chart.percent, curves)


def _curve(lines: Sequence[Line], key: str, name: str, *, flipped: bool = False) -> Curve:
    """Where the log holds a number under this key; `flipped`: one minus it."""
    points = [(line["step"], line[key]) for line in lines if line.get(key) is not None]
    chosen = thinned(len(points), MOST_POINTS) if points else np.empty(0, dtype=np.int64)
    values = [float(points[i][1]) for i in chosen]
    return Curve(
        name,
        [float(points[i][0]) for i in chosen],
        [1 - value for value in values] if flipped else values,
    )
