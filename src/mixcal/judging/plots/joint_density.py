"""Joint density of confidence and accuracy at several moments of training.

As in Figure 1 of Thulasidasan et al. (NeurIPS 2019; arXiv:1905.11001v5), who show each density over
"the mean of the winning softmax score" and the accuracy without saying of what the means are. Here
a point of the density is a group of samples drawn with replacement, 100 if nothing is said: its
mean confidence and its accuracy. So the width shows what a batch of this size shows, and the place
the whole split.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from jaxtyping import Float, Int

from mixcal.core.errors import BadInput
from mixcal.judging.plots.canvas import palette, say, shares, sheet
from mixcal.judging.report.figures import thinned

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUP, DRAWS, CELLS, MOST_PANELS = 100, 20_000, 120, 6
# The width of the kernel the groups are smoothed with, in cells.
SMOOTHING = 1.5
# Contours around these shares of the groups.
INSIDE = (0.95, 0.8, 0.6, 0.4, 0.2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One evaluation: the step, and per bin how many, how many right, and Σ confidence."""

    step: int
    counts: Int[np.ndarray, " m"]
    right: Int[np.ndarray, " m"]
    confidence: Float[np.ndarray, " m"]

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> Self:
        """From a line of the log that holds `bins`."""
        bins = line["bins"]
        return cls(
            step=int(line["step"]),
            counts=np.array(bins["counts"], dtype=np.int64),
            right=np.array(bins["right"], dtype=np.int64),
            confidence=np.array(bins["confidence"], dtype=np.float64),
        )

    @property
    def place(self) -> tuple[float, float]:
        """Mean confidence and accuracy of all samples."""
        n = self.counts.sum()
        return float(self.confidence.sum() / n), float(self.right.sum() / n)

    def groups(
        self, *, size: int = GROUP, draws: int = DRAWS, seed: int = 0
    ) -> Float[np.ndarray, "draws 2"]:
        """Mean confidence and accuracy of groups drawn with replacement.

        A sample's confidence counts as the mean of its bin.
        """
        cells = np.concatenate([self.right, self.counts - self.right])
        drawn = np.random.default_rng(seed).multinomial(size, cells / cells.sum(), size=draws)
        bins = len(self.counts)
        hits = drawn[:, :bins]
        mean = self.confidence / np.maximum(self.counts, 1)
        return np.stack([(hits + drawn[:, bins:]) @ mean, hits.sum(1)], axis=1) / size


def moments(log: Sequence[Mapping[str, Any]], *, where: str = "the log") -> list[Moment]:
    """The evaluations of a log that hold bins: averaged weights first, then the first split."""
    found: dict[tuple[str, str], list[Moment]] = {}
    for line in log:
        if "bins" in line:
            found.setdefault((line["split"], line["weights"]), []).append(Moment.of(line))
    if not found:
        raise BadInput(
            f"{where} holds no bins of evaluations; train with --set running.log_bins=50, "
            "running.evaluate_every above 0, and validation data or --watch-test."
        )
    averaged = [key for key in found if key[1] == "averaged"]
    return found[(averaged or list(found))[0]]


def draw_joint_density(
    evaluations: Sequence[Moment],
    *,
    epoch_steps: int = 0,
    group: int = GROUP,
    panels: int = MOST_PANELS,
    title: str = "",
) -> "Figure":
    """Density over confidence and accuracy, one panel a moment, evenly chosen from all of them."""
    if not evaluations:
        raise BadInput("There are no evaluations to draw; train with running.evaluate_every.")
    if panels < 1 or group < 1:
        raise BadInput(f"{panels} panels of groups of {group} were asked for; give 1 or more.")
    chosen = [evaluations[i] for i in thinned(len(evaluations), panels)]
    columns = min(len(chosen), 3)
    rows = -(-len(chosen) // columns)
    figure, axes = sheet(
        2.9 * columns + 0.3, 3.1 * rows, rows=rows, columns=columns, sharex=True, sharey=True
    )
    for place, moment in enumerate(chosen):
        _panel(axes.flat[place], moment, group)
        confidence, accuracy = moment.place
        when = f"epoch {moment.step / epoch_steps:g}" if epoch_steps else f"step {moment.step:,}"
        say(
            axes.flat[place],
            title=when,
            note=f"confidence {100 * confidence:.1f}\u202f%, accuracy {100 * accuracy:.1f}\u202f%",
            x="confidence" if place >= len(chosen) - columns else "",
            y="" if place % columns else "accuracy",
        )
    for spare in axes.flat[len(chosen) :]:
        spare.set_visible(False)
    n = int(chosen[0].counts.sum())
    figure.suptitle(
        f"{title + ': ' if title else ''}groups of {group} of n = {n:,} samples",
        fontsize=10,
        color=palette()["soft"],
        x=0.01,
        ha="left",
    )
    return figure


def _panel(axes: Any, moment: Moment, group: int) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    colors = palette()
    points = moment.groups(size=group)
    density, centers = smoothed_histogram(points)
    axes.plot([0, 1], [0, 1], color=colors["soft"], linestyle=(0, (5, 4)), linewidth=1)
    blues = LinearSegmentedColormap.from_list(
        "bar", [colors["hover"], colors["bar"], colors["accent"]]
    )
    levels = highest_density_levels(density, INSIDE)
    axes.contourf(centers, centers, density.T, levels=[*levels, density.max() * 1.01], cmap=blues)
    axes.plot(
        *moment.place,
        marker="o",
        markersize=5,
        color=colors["white"],
        markeredgecolor=colors["ink"],
        markeredgewidth=1.1,
    )
    shares(axes)
    axes.set_aspect("equal")


def smoothed_histogram(
    points: Float[np.ndarray, "n 2"], cells: int = CELLS
) -> tuple[Float[np.ndarray, "c c"], Float[np.ndarray, " c"]]:
    """The density of points in the unit square over cells, smoothed; and the cells' centers."""
    edges = np.linspace(0, 1, cells + 1)
    counts = np.histogram2d(points[:, 0], points[:, 1], bins=[edges, edges])[0]
    centers = (edges[:-1] + edges[1:]) / 2
    apart = (np.arange(cells)[:, None] - np.arange(cells)) / SMOOTHING
    kernel = np.exp(-0.5 * apart**2)
    # What would leave the square comes back in: no mass is lost at its edges.
    kernel /= kernel.sum(0)
    return kernel @ counts @ kernel.T / len(points), centers


def highest_density_levels(
    density: Float[np.ndarray, "c c"], inside: Sequence[float]
) -> list[float]:
    """For each share, the density above which that share of the mass lies; rising."""
    ordered = np.sort(density.ravel())[::-1]
    mass = np.cumsum(ordered) / ordered.sum()
    found = [float(ordered[np.searchsorted(mass, share)]) for share in inside]
    return [level for place, level in enumerate(found) if place == 0 or level > found[place - 1]]
