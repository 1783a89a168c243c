"""The sheet all pictures are drawn on: size, ink and colors of the report's light page."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mixcal.core.errors import BadInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE = Path(__file__).parent.parent / "report" / "page" / "style.css"
FORMATS = ("png", "svg", "pdf")
TEXT, SMALL = 9.5, 8.5
DOTS_PER_INCH = 160
# Colors of lines, in the order of the page's curves.
SERIES = 6


@cache
def palette() -> dict[str, str]:
    """The colors of the report's light page by name; --bar is "bar"."""
    first = STYLE.read_text().partition("}")[0]
    return {"white": "#ffffff"} | dict(re.findall(r"--([\w-]+): (#[0-9a-fA-F]{6});", first))


def series(place: int) -> str:
    """The color of the n-th line, counted from 0; after the last one the first comes again."""
    return palette()[f"series-{place % SERIES + 1}"]


def sheet(
    width: float, height: float, *, rows: int = 1, columns: int = 1, **more: Any
) -> tuple["Figure", np.ndarray]:
    """A figure of so many inches and its axes, rows by columns; `more` is for `subplots`."""
    from matplotlib.figure import Figure

    figure = Figure((width, height), facecolor=palette()["white"], layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **more)
    for one in axes.flat:
        plain(one)
    return figure, axes


def plain(axes: "Axes") -> None:
    """Two spines, quiet ticks, a faint grid behind everything."""
    colors = palette()
    axes.set_facecolor(colors["white"])
    axes.set_axisbelow(True)
    axes.grid(color=colors["line"], linewidth=0.6)
    axes.tick_params(colors=colors["soft"], labelcolor=colors["ink"], labelsize=SMALL, length=3)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(colors["soft"])
        spine.set_linewidth(0.8)


def say(axes: "Axes", *, title: str = "", note: str = "", x: str = "", y: str = "") -> None:
    """Title and, in smaller letters below it, n and numbers; what the axes are."""
    colors = palette()
    lines = note.count("\n") + 1
    if title:
        pad = 6 + (SMALL * 1.3 * lines + 2 if note else 0)
        axes.set_title(
            title, loc="left", fontsize=TEXT + 1, fontweight="bold", color=colors["ink"], pad=pad
        )
    if note:
        axes.annotate(
            note,
            (0, 1),
            (0, 6),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=SMALL,
            color=colors["soft"],
            va="bottom",
            linespacing=1.25,
            annotation_clip=False,
        )
    axes.set_xlabel(x, fontsize=TEXT, color=colors["ink"])
    axes.set_ylabel(y, fontsize=TEXT, color=colors["ink"])


def legend(axes: "Axes", where: Any = "best") -> None:
    """The names of what is drawn."""
    colors = palette()
    axes.legend(
        loc=where,
        fontsize=SMALL,
        labelcolor=colors["ink"],
        facecolor=colors["white"],
        edgecolor=colors["line"],
        framealpha=0.9,
        borderpad=0.5,
        handlelength=1.6,
    )


def legend_below(figure: "Figure", columns: int) -> None:
    """The names of everything that is drawn, once each, below all axes."""
    colors, found = palette(), dict[str, Any]()
    for one in figure.axes:
        for handle, name in zip(*one.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    figure.legend(
        found.values(),
        found.keys(),
        loc="outside lower center",
        ncols=columns,
        fontsize=SMALL,
        labelcolor=colors["ink"],
        frameon=False,
        columnspacing=1.2,
        handlelength=1.6,
    )


def shares(axes: "Axes", *, x: bool = True, y: bool = True) -> None:
    """Axes from 0 to 1, written in percent."""
    for wanted, axis, limit in ((x, axes.xaxis, axes.set_xlim), (y, axes.yaxis, axes.set_ylim)):
        if wanted:
            limit(0, 1)
            percents(axis)


def percents(axis: Any) -> None:
    """Shares on this axis written in percent, with as many digits as they need."""
    axis.set_major_formatter(lambda share, _: f"{round(100 * share, 6):g}\u202f%")


def same_length(names: Sequence[str], most: int = 28) -> list[str]:
    """Names cut to what has room on an axis."""
    return [name if len(name) <= most else f"{name[: most - 1]}…" for name in names]


def save_figure(figure: "Figure", path: Path, suffix: str = "") -> None:
    """Write the picture in the format its name ends with; the same figure gives the same bytes.

    `suffix`: the ending that counts, where the file has another name for a while.
    """
    import matplotlib

    ending = (suffix or path.suffix).lower().removeprefix(".")
    if ending not in FORMATS:
        raise BadInput(f"{path} ends in none of .{', .'.join(FORMATS)}; name one of them.")
    undated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[ending]
    with matplotlib.rc_context({"svg.hashsalt": "mixcal", "svg.fonttype": "path"}):
        figure.savefig(path, format=ending, dpi=DOTS_PER_INCH, metadata=undated)
