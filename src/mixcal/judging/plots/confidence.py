"""Histograms of confidence: right against wrong, and familiar against foreign samples."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from mixcal.core.errors import BadInput
from mixcal.judging.metrics.intervals import Estimate
from mixcal.judging.metrics.ranking import auroc_interval
from mixcal.judging.plots.canvas import legend, palette, percents, say, series, shares, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELLS = 25
# Models side by side, then below each other.
ABREAST = 3


def draw_confidence(
    confidence: Float[np.ndarray, " n"],
    right: Bool[np.ndarray, " n"],
    *,
    title: str = "Confidence",
    cells: int = CELLS,
) -> "Figure":
    """How confident the right predictions are and how confident the wrong ones, one on another."""
    check_confidence(confidence, title)
    colors = palette()
    figure, axes = sheet(5.6, 3.6)
    one = axes[0, 0]
    edges = np.linspace(0, 1, cells + 1)
    bottom = np.zeros(cells)
    for hits, name, color in ((True, "right", "bar"), (False, "wrong", "over")):
        heights = np.histogram(confidence[right == hits], edges)[0] / len(confidence)
        one.bar(
            edges[:-1],
            heights,
            1 / cells,
            bottom,
            align="edge",
            color=colors[color],
            alpha=0.85,
            edgecolor=colors["white"],
            linewidth=0.5,
            label=f"{name} ({int((right == hits).sum()):,})",
        )
        bottom = bottom + heights
    one.axvline(right.mean(), color=colors["ink"], linewidth=1.4, label="accuracy")
    one.axvline(
        confidence.mean(),
        color=colors["ink"],
        linewidth=1.4,
        linestyle=(0, (3, 2)),
        label="mean confidence",
    )
    shares(one, y=False)
    percents(one.yaxis)
    note = (
        f"n = {len(confidence):,}, accuracy {100 * right.mean():.2f}\u202f%, "
        f"mean confidence {100 * confidence.mean():.2f}\u202f%"
    )
    say(one, title=title, note=note, x="confidence", y="samples")
    legend(one, "upper left")
    return figure


def draw_winning_scores(
    models: Mapping[str, Mapping[str, Float[np.ndarray, " _"]]],
    *,
    cells: int = CELLS,
    level: float = 0.95,
) -> "Figure":
    """Per model, the winning scores of familiar samples and of foreign ones, each as shares.

    As in Figure 8 of Thulasidasan et al. (NeurIPS 2019; arXiv:1905.11001v5). By model and by name
    of the samples; the first of each model are the familiar ones, and the legend gives the AUROC
    of 1 − confidence for telling the others from them.
    """
    if not models or any(len(found) < 2 for found in models.values()):
        raise BadInput("There are no foreign samples to compare with; give --ood FILE.")
    columns = min(len(models), ABREAST)
    rows = -(-len(models) // columns)
    figure, axes = sheet(
        max(4.2 * columns, 5.4), 3.5 * rows, rows=rows, columns=columns, sharex=True, sharey=True
    )
    edges = np.linspace(0, 1, cells + 1)
    for place, (model, found) in enumerate(models.items()):
        one = axes.flat[place]
        familiar = next(iter(found.values()))
        for number, (name, confidence) in enumerate(found.items()):
            check_confidence(confidence, name)
            heights = np.histogram(confidence, edges)[0] / len(confidence)
            said = f"{name}, n = {len(confidence):,}"
            if number:
                said += f", AUROC {_apart(familiar, confidence, level)}"
            one.stairs(heights, edges, fill=True, color=series(number), alpha=0.18, linewidth=0)
            one.stairs(heights, edges, color=series(number), linewidth=1.6, label=said)
        shares(one, y=False)
        percents(one.yaxis)
        say(one, title=model, x="winning score", y="" if place % columns else "samples")
        legend(one, "upper center" if len(models) > 1 else "best")
    for spare in axes.flat[len(models) :]:
        spare.set_visible(False)
    top = axes.flat[0].get_ylim()[1]
    # Room for the legend.
    axes.flat[0].set_ylim(0, top * (1.15 + 0.1 * max(len(found) for found in models.values())))
    return figure


def _apart(
    familiar: Float[np.ndarray, " n"], foreign: Float[np.ndarray, " m"], level: float
) -> str:
    found: Estimate = auroc_interval(1 - foreign, 1 - familiar, level=level)
    return f"{found.value:.3f}"


def check_confidence(confidence: Float[np.ndarray, " n"], name: str) -> None:
    """Refuse nothing at all, and what is no probability."""
    if not len(confidence):
        raise BadInput(f"{name}: there are no samples to draw; give predictions.")
    low, high = float(confidence.min()), float(confidence.max())
    if not (low >= 0 and high <= 1):
        raise BadInput(
            f"{name}: confidences lie between {low:.6g} and {high:.6g}, but they are "
            "probabilities; give the largest probability of each sample."
        )
