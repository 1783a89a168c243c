"""Reliability diagrams: accuracy against confidence over bins or smoothed, with both bands.

Bars are the accuracy of each bin, hatched boxes the gap to its confidence, whiskers the interval
of the accuracy; the gray boxes are where the accuracies of a calibrated model of this size lie.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mixcal.core.errors import BadInput
from mixcal.judging.metrics.intervals import Estimate
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.metrics.reliability_intervals import (
    bootstrap_accuracies,
    error_interval,
    null_band,
)
from mixcal.judging.plots.canvas import legend_below, palette, percents, say, shares, sheet
from mixcal.judging.report.figures import binned, smoothed
from mixcal.judging.report.judged import Judged
from mixcal.judging.report.wording import interval, number
from mixcal.judging.samples import Samples

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Band = Literal["interval", "bootstrap"]
WIDE, HIGH = 4.3, 6.1


def draw_reliability(
    reliability: Reliability | Mapping[str, Reliability],
    *,
    title: str = "Reliability",
    band: Band = "interval",
    level: float = 0.95,
) -> "Figure":
    """The diagram of one model, or side by side those of several; below each the counts.

    Whiskers are Wilson's intervals, or with `band="bootstrap"` the percentiles of resampled bins.
    """
    several = reliability if isinstance(reliability, Mapping) else {title: reliability}
    if not several or any(not sums.n for sums in several.values()):
        raise BadInput("There are no samples to draw a reliability diagram of; give predictions.")
    figure, axes = _panels(len(several))
    for place, (name, sums) in enumerate(several.items()):
        _diagram(axes[0, place], sums, name, band, level)
        _counts(axes[1, place], sums)
    legend_below(figure, 2 * len(several))
    return figure


def _panels(models: int) -> tuple["Figure", np.ndarray]:
    """A diagram a model, and below it where its samples lie."""
    return sheet(
        WIDE * models,
        HIGH,
        rows=2,
        columns=models,
        sharex=True,
        gridspec_kw={"height_ratios": (4, 1)},
    )


def _diagram(axes: "Axes", sums: Reliability, name: str, band: Band, level: float) -> None:
    colors, drawn = palette(), binned(sums, level)
    edges = np.array(drawn["edges"])
    held = sums.counts > 0
    left, width = edges[:-1][held], np.diff(edges)[held]
    accuracy, confidence = sums.accuracies[held], sums.confidences[held]
    bands = np.array([drawn["band_low"], drawn["band_high"]])[:, held]
    ends = np.array([drawn["low"], drawn["high"]])[:, held]
    if band == "bootstrap":
        ends = np.stack(bootstrap_accuracies(sums, level=level))[:, held]
    axes.plot([0, 1], [0, 1], color=colors["soft"], linestyle=(0, (5, 4)), linewidth=1)
    axes.bar(left, accuracy, width, align="edge", color=colors["bar"], alpha=0.8, label="accuracy")
    for over, what in ((True, "over"), (False, "under")):
        some = (confidence > accuracy) == over
        axes.bar(
            left[some],
            (confidence - accuracy)[some],
            width[some],
            accuracy[some],
            align="edge",
            color=colors[what],
            edgecolor=colors[what],
            linewidth=0.8,
            alpha=0.35 if over else 0.55,
            label=f"{what}confident by" if some.any() else None,
        )
    axes.bar(
        left,
        bands[1] - bands[0],
        width,
        bands[0],
        align="edge",
        color=colors["band"],
        alpha=0.45,
        edgecolor=colors["ink"],
        linewidth=0.6,
        linestyle=(0, (2, 2)),
        label="if calibrated",
    )
    axes.errorbar(
        left + width / 2,
        accuracy,
        np.abs(ends - accuracy),
        fmt="o",
        markersize=3.2,
        color=colors["ink"],
        markerfacecolor=colors["white"],
        markeredgewidth=0.9,
        elinewidth=0.9,
        capsize=0,
        # A point at 100 % is seen whole.
        clip_on=False,
        label=f"{100 * level:g}\u202f% {band}",
    )
    shares(axes)
    say(axes, title=name, note=_note(sums, level), y="accuracy")


def _note(sums: Reliability, level: float) -> str:
    found, chance = error_interval(sums, level=level), null_band(sums, level=level)
    kind = "" if sums.partition.equal_width else " of equal mass"
    return (
        f"n = {sums.n:,}, accuracy {number('accuracy', sums.accuracy())}, "
        f"confidence {number('accuracy', sums.mean_confidence())}\n"
        f"ECE {number('ece', found.value)} ({interval('ece', _ends(found))}), "
        f"{sums.bins} bins{kind}\n"
        f"if calibrated {interval('ece', _ends(chance))}"
    )


def _ends(estimate: Estimate) -> dict[str, float]:
    return {"low": estimate.low, "high": estimate.high}


def _counts(axes: "Axes", sums: Reliability) -> None:
    """The share of the samples in each bin; of bins of equal mass, where they lie."""
    colors, edges = palette(), np.array(sums.partition.edges)
    axes.bar(
        edges[:-1],
        sums.shares,
        np.diff(edges),
        align="edge",
        color=colors["bar"],
        alpha=0.8,
        edgecolor=colors["white"],
        linewidth=0.5,
    )
    axes.axvline(sums.accuracy(), color=colors["ink"], linewidth=1.3, label="mean accuracy")
    axes.axvline(
        sums.mean_confidence(),
        color=colors["over"],
        linewidth=1.3,
        linestyle=(0, (3, 2)),
        label="mean confidence",
    )
    percents(axes.yaxis)
    say(axes, x="confidence", y="samples")


def draw_smooth_reliability(
    judged: Judged | Mapping[str, Judged], *, title: str = "Reliability, smoothed"
) -> "Figure":
    """The same without bins, at the bandwidth of the smooth ECE; below, where the samples lie."""
    several = judged if isinstance(judged, Mapping) else {title: judged}
    if not several:
        raise BadInput("There are no samples to draw a reliability diagram of; give predictions.")
    figure, axes = _panels(len(several))
    for place, (name, one) in enumerate(several.items()):
        _smooth(axes[:, place], one, name)
    legend_below(figure, 2 * len(several))
    return figure


def _smooth(axes: np.ndarray, judged: Judged, name: str) -> None:
    colors, level = palette(), float(judged.summary["level"])
    drawn: dict[str, Any] = smoothed(judged, Samples.of(judged.predictions), level)
    curve, below = axes
    curve.plot([0, 1], [0, 1], color=colors["soft"], linestyle=(0, (5, 4)), linewidth=1)
    curve.fill_between(
        drawn["confidence"],
        drawn["low"],
        drawn["high"],
        color=colors["bar"],
        alpha=0.25,
        linewidth=0,
        label=f"{100 * level:g}\u202f% interval, pointwise",
    )
    curve.plot(
        drawn["confidence"], drawn["accuracy"], color=colors["bar"], linewidth=2, label="accuracy"
    )
    shares(curve)
    note = (
        f"n = {len(judged.predictions):,}, accuracy {number('accuracy', judged.value('accuracy'))},"
        f" confidence {number('mean_confidence', judged.value('mean_confidence'))}\n"
        f"smooth ECE {number('smooth_ece', drawn['error']['value'])} "
        f"({interval('smooth_ece', drawn['error'])}), bandwidth {drawn['bandwidth']:.3f}"
    )
    say(curve, title=name, note=note, y="accuracy")
    below.fill_between(drawn["confidence"], 0, drawn["mass"], color=colors["bar"], alpha=0.8, lw=0)
    below.set_ylim(0, 1.05)
    below.set_yticks([])
    say(below, x="confidence", y="density")
