"""Confusion: true against predicted classes as a matrix, or of many classes the worst pairs."""

from typing import TYPE_CHECKING, Any

import numpy as np

from mixcal.judging.plots.canvas import palette, plain, same_length, say, sheet
from mixcal.judging.report.figures import confusion
from mixcal.judging.report.judged import Judged
from mixcal.judging.report.wording import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A cell at least so full carries white numbers.
DARK = 0.8


def draw_confusion(judged: Judged, *, title: str = "Confusion") -> "Figure":
    """Shares of each true class as shades, counts as numbers."""
    drawn = confusion(judged)
    note = f"n = {len(judged.predictions):,}, error {number('error', judged.value('error'))}"
    return _matrix(drawn, title, note) if "matrix" in drawn else _pairs(drawn, title, note)


def _matrix(drawn: dict[str, Any], title: str, note: str) -> "Figure":
    from matplotlib.colors import LinearSegmentedColormap

    colors, counts = palette(), np.array(drawn["matrix"])
    k = len(counts)
    side = max(3.6, 0.42 * k + 1.6)
    figure, axes = sheet(side, side)
    one = axes[0, 0]
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    blues = LinearSegmentedColormap.from_list("bar", [colors["white"], colors["accent"]])
    one.imshow(shares, cmap=blues, vmin=0, vmax=1, aspect="equal")
    for row, column in np.argwhere(counts):
        one.text(
            column,
            row,
            f"{counts[row, column]:,}",
            ha="center",
            va="center",
            fontsize=8 if k <= 12 else 6,
            color=colors["white"] if shares[row, column] > DARK else colors["ink"],
        )
    names = same_length(drawn["names"], 16)
    one.set_xticks(range(k), names, rotation=0 if max(map(len, names)) <= 3 else 90)
    one.set_yticks(range(k), names)
    one.grid(visible=False)
    say(one, title=title, note=note, x="predicted class", y="true class")
    return figure


def _pairs(drawn: dict[str, Any], title: str, note: str) -> "Figure":
    """Bars of the most confused pairs, most frequent on top."""
    colors, pairs = palette(), drawn["pairs"]
    figure, axes = sheet(6.0, max(2.2, 0.24 * len(pairs) + 1.2))
    one = axes[0, 0]
    plain(one)
    one.barh(range(len(pairs)), [count for *_, count in pairs], color=colors["bar"], alpha=0.85)
    one.set_yticks(range(len(pairs)), [f"{true} → {said}" for true, said, _ in pairs])
    one.invert_yaxis()
    one.grid(visible=False, axis="y")
    say(one, title=title, note=f"{note}; most confused pairs, true → predicted", x="samples")
    return figure
