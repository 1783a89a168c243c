"""Charts of a study: one metric along a knob, and bars of methods, both with intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from mixcal.core.errors import BadInput
from mixcal.judging.metrics.intervals import Estimate, mean_interval
from mixcal.judging.plots.canvas import legend, palette, same_length, say, series, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# How far apart the lines of one knob value stand, as a share of a step.
SPREAD = 0.05
# Between two groups of bars, in bars.
GAP = 0.9


@dataclass(frozen=True, slots=True)
class Measured:
    """A number with its interval, and the runs it is the mean of (none: one judged file)."""

    estimate: Estimate
    runs: tuple[float, ...] = ()

    @classmethod
    def of_runs(cls, values: Sequence[float], *, level: float = 0.95) -> Self:
        """The mean of runs and Student's interval; of one run no interval."""
        if not values:
            raise BadInput("There is no run to average; run the study first.")
        array = np.array(values, dtype=np.float64)
        mean = float(array.mean())
        found = Estimate(mean, mean, mean)
        if len(array) > 1:
            found = mean_interval(array, level=level)
        return cls(found, tuple(array.tolist()))

    @classmethod
    def scaled(cls, estimate: Mapping[str, float], factor: float) -> Self:
        """One judged number as a summary has it, times a factor."""
        ends = (factor * estimate[key] for key in ("value", "low", "high"))
        return cls(Estimate(*ends))


def draw_knob(
    lines: Mapping[str, Mapping[str, Measured]],
    *,
    knob: str,
    metric: str,
    title: str = "",
    note: str = "",
) -> "Figure":
    """The metric along the knob's values, one line for each name of `lines`.

    Values that are numbers stand where they belong, others evenly.
    """
    values = list(dict.fromkeys(value for line in lines.values() for value in line))
    if not values:
        raise BadInput(f"There are no runs along {knob}; run the study first.")
    places = positions(values)
    figure, axes = sheet(5.8, 3.8)
    one = axes[0, 0]
    at = np.array(list(places.values()))
    step = float(np.diff(np.sort(at)).min()) if len(at) > 1 else 1.0
    for place, (name, line) in enumerate(lines.items()):
        shift = SPREAD * step * (place - (len(lines) - 1) / 2)
        x = [places[value] + shift for value in line]
        order = np.argsort(x)
        y = np.array([found.estimate.value for found in line.values()])
        ends = np.array([[e.estimate.low, e.estimate.high] for e in line.values()])
        one.errorbar(
            np.array(x)[order],
            y[order],
            np.abs(ends - y[:, None]).T[:, order],
            color=series(place),
            marker="o",
            markersize=4.5,
            linewidth=1.8,
            elinewidth=1.1,
            capsize=2.5,
            label=name,
        )
    one.set_xticks(at, list(places))
    one.grid(visible=False, axis="x")
    say(one, title=title or f"{metric} along {knob}", note=note, x=knob, y=metric)
    if len(lines) > 1:
        legend(one)
    return figure


def draw_bars(
    bars: Mapping[str, Mapping[str, Measured]],
    *,
    metric: str,
    title: str = "",
    note: str = "",
) -> "Figure":
    """Bars with intervals: one group a name, in it one bar a method; dots are the single runs."""
    methods = list(dict.fromkeys(method for group in bars.values() for method in group))
    if not methods:
        raise BadInput("There are no methods to compare; run the study, or give predictions.")
    colors = palette()
    rows = sum(len(group) for group in bars.values())
    figure, axes = sheet(6.4, 1.3 + 0.3 * rows + 0.28 * len(bars))
    one = axes[0, 0]
    names, places, at = [], [], 0.0
    endless: dict[float, float] = {}
    for group in bars.values():
        for method, found in group.items():
            color = series(methods.index(method)) if len(methods) <= 6 else colors["bar"]
            if np.isfinite(found.estimate.value):
                _bar(one, at, found, color)
            else:
                endless[at] = found.estimate.value
            names.append(method)
            places.append(at)
            at += 1
        at += GAP
    _endless(one, endless)
    one.set_yticks(places, same_length(names, 34))
    one.set_ylim(at - GAP - 0.4, -1.2 if any(bars) else -0.6)
    one.grid(visible=False, axis="y")
    _group_names(one, bars)
    say(one, title=title or metric, note=note, x=metric)
    return figure


def _bar(axes: "Axes", at: float, found: Measured, color: str) -> None:
    """A bar with its interval and its runs."""
    ink, estimate = palette()["ink"], found.estimate
    axes.barh(at, estimate.value, 0.72, color=color, alpha=0.8)
    axes.errorbar(
        estimate.value,
        at,
        xerr=[[estimate.value - estimate.low], [estimate.high - estimate.value]],
        color=ink,
        elinewidth=1.1,
        capsize=2.5,
    )
    axes.plot(
        found.runs,
        [at] * len(found.runs),
        linestyle="",
        marker="o",
        markersize=3.2,
        color=palette()["white"],
        markeredgecolor=ink,
        markeredgewidth=0.7,
    )


def _endless(axes: "Axes", values: Mapping[float, float]) -> None:
    """An infinite value reaches through the whole axis; an undefined one has no bar, but a word."""
    right = axes.get_xlim()[1]
    for at, value in values.items():
        axes.barh(at, right if value > 0 else 0, 0.72, fill=False, hatch="///", linewidth=0.7)
        word = "undefined" if np.isnan(value) else "infinite"
        axes.annotate(word, (0.02, at), xycoords=("axes fraction", "data"), va="center").set_bbox(
            {"facecolor": palette()["white"], "edgecolor": "none", "pad": 1.5}
        )
    axes.set_xlim(right=right)


def _group_names(axes: "Axes", bars: Mapping[str, Mapping[str, Measured]]) -> None:
    """The name of each group at the left, above its first bar."""
    at = 0.0
    for name, group in bars.items():
        if name:
            axes.annotate(
                name,
                (0.008, at - 0.45),
                xycoords=("axes fraction", "data"),
                va="bottom",
                fontsize=8.5,
                fontweight="bold",
                color=palette()["soft"],
            )
        at += len(group) + GAP


def positions(values: Sequence[str]) -> dict[str, float]:
    """Where each value stands: at its number if all are numbers, else one after another."""
    try:
        return {value: float(value) for value in sorted(values, key=float)}
    except ValueError:
        return {value: float(place) for place, value in enumerate(values)}
