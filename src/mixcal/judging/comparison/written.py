"""Scoreboards as text: Markdown, LaTeX and CSV.

Markdown and LaTeX are for reading, in percent where that is usual. CSV is for computing: one row a
line and metric, shares as shares, nothing rounded.
"""

import csv
import io
import math

from mixcal.judging.comparison.scoreboard import MARK, Cell, Gap, Scoreboard
from mixcal.judging.report.wording import PLAIN, TITLES

MINUS = "−"
ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}
# Letters of ours that LaTeX's text fonts lack.
IN_MATH = {"Δ": r"$\Delta$", "±": r"$\pm$", MINUS: "$-$", "σ": r"$\sigma$"}


def head(metric: str) -> str:
    """A column's head with its unit."""
    title = TITLES.get(metric, metric)
    return title if metric in PLAIN else f"{title} %"


def figure(metric: str, value: float, *, sign: bool = False) -> str:
    """A number under its head: two digits of percent, four of what is no share."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    shown = f"{value:.4f}" if metric in PLAIN else f"{100 * value:.2f}"
    if not sign:
        return shown
    unsigned = shown.removeprefix("-")
    return unsigned if not float(shown) else f"{'+' if value > 0 else MINUS}{unsigned}"


def measured(metric: str, cell: Cell) -> str:
    """23.61 (20.95 – 26.49), or 23.61 ± 1.20."""
    shown = figure(metric, cell.value)
    if cell.deviation is not None:
        return f"{shown} ± {figure(metric, cell.deviation)}"
    if cell.low is None or cell.high is None:
        return shown
    return f"{shown} ({figure(metric, cell.low)} – {figure(metric, cell.high)})"


def gap_text(metric: str, gap: Gap | None) -> str:
    """−1.20 [−2.00, −0.40] *."""
    if gap is None:
        return ""
    shown = figure(metric, gap.value, sign=True)
    if gap.low is None or gap.high is None:
        return shown
    ends = ", ".join(figure(metric, end, sign=True) for end in (gap.low, gap.high))
    return f"{shown} [{ends}]{f' {MARK}' if gap.differs else ''}"


def markdown(board: Scoreboard) -> str:
    """A table, and the notes below it."""
    columns = [*board.heads, board.counted]
    rows = [[*line.labels, f"{line.n:,}"] for line in board.lines]
    for metric in board.metrics:
        columns += [head(metric), f"Δ {head(metric)}"]
        for row, line in zip(rows, board.lines, strict=True):
            cell = line.cells[metric]
            row += [measured(metric, cell), gap_text(metric, cell.gap)]
    escaped = [[text.replace("|", "\\|").replace("*", "\\*") for text in row] for row in rows]
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(row) + " |" for row in escaped]
    return "\n".join([*lines, "", " ".join(board.notes).replace("*", "\\*")]) + "\n"


def latex(board: Scoreboard) -> str:
    r"""A tabular of booktabs, with the notes as a comment."""
    columns = [*board.heads, board.counted]
    rows = [[*map(escaped, line.labels), f"{line.n:,}"] for line in board.lines]
    for metric in board.metrics:
        columns += [head(metric), f"Δ {head(metric)}"]
        for row, line in zip(rows, board.lines, strict=True):
            cell = line.cells[metric]
            row += [_latex_value(metric, cell), _latex_gap(metric, cell.gap)]
    layout = "l" * len(board.heads) + "r" * (1 + 2 * len(board.metrics))
    return "\n".join(
        [
            r"% Needs \usepackage{booktabs}.",
            *(f"% {note}" for note in board.notes),
            f"\\begin{{tabular}}{{{layout}}}",
            r"\toprule",
            " & ".join(map(escaped, columns)) + r" \\",
            r"\midrule",
            *(" & ".join(row) + r" \\" for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def escaped(text: str) -> str:
    """As LaTeX's text."""
    return "".join(IN_MATH.get(mark, ESCAPED.get(mark, mark)) for mark in text)


def _latex_value(metric: str, cell: Cell) -> str:
    shown = _in_math(figure(metric, cell.value))
    if cell.deviation is not None:
        return f"${shown} \\pm {figure(metric, cell.deviation)}$"
    if cell.low is None or cell.high is None:
        return f"${shown}$"
    ends = ", ".join(_in_math(figure(metric, end)) for end in (cell.low, cell.high))
    return f"${shown}$ {{\\scriptsize $[{ends}]$}}"


def _latex_gap(metric: str, gap: Gap | None) -> str:
    if gap is None:
        return "--"
    mark = f"^{{{MARK}}}" if gap.differs else ""
    shown = f"${_in_math(figure(metric, gap.value, sign=True))}{mark}$"
    if gap.low is None or gap.high is None:
        return shown
    ends = ", ".join(_in_math(figure(metric, end, sign=True)) for end in (gap.low, gap.high))
    return f"{shown} {{\\scriptsize $[{ends}]$}}"


def _in_math(text: str) -> str:
    return text.replace(MINUS, "-").replace("∞", r"\infty").replace("–", r"\text{--}")


def comma_separated(board: Scoreboard) -> str:
    """One row a line and metric; what is not known is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    numbers = ("value", "low", "high", "sd")
    gaps = ("difference", "difference_low", "difference_high", "differs", "interval_by")
    writer.writerow([*board.heads, board.counted, "metric", *numbers, *gaps, "against", "level"])
    for line in board.lines:
        for metric, cell in line.cells.items():
            gap = cell.gap
            told = (
                ("", "", "", "", "")
                if gap is None
                else (gap.value, gap.low, gap.high, str(gap.differs).lower(), gap.how)
            )
            writer.writerow(
                (
                    *(*line.labels, line.n, metric),
                    *(cell.value, cell.low, cell.high, cell.deviation),
                    *(*told, board.against, board.level),
                )
            )
    return out.getvalue()
