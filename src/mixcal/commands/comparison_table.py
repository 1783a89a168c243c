"""What `mixcal compare` shows a person."""

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mixcal.judging.comparison.scoreboard import Line, Scoreboard
from mixcal.judging.comparison.written import gap_text, head, measured

COLORS = {"better": "green", "worse": "red", "different": "bold", "": "dim"}


def print_scoreboard(board: Scoreboard) -> None:
    """One row a run where the terminal is wide enough, else one row a metric and run."""
    console = Console()
    table = _wide(board)
    unbounded = console.options.update(max_width=1000)
    if console.measure(table, options=unbounded).maximum > console.width:
        table = _tall(board)
    console.print(table)
    for note in board.notes:
        console.print(note, highlight=False, markup=False)


def _wide(board: Scoreboard) -> Table:
    table = Table(show_lines=True)
    for label in board.heads:
        table.add_column(label)
    table.add_column(board.counted, justify="right")
    for metric in board.metrics:
        table.add_column(f"{head(metric)}\nΔ", justify="right", no_wrap=True)
    for line in board.lines:
        cells = (Text("\n").join(_texts(line, metric)) for metric in board.metrics)
        labels = (Text(label) for label in line.labels)
        style = "bold" if line.baseline else None
        table.add_row(*labels, Text(f"{line.n:,}"), *cells, style=style)
    return table


def _tall(board: Scoreboard) -> Table:
    table = Table(box=box.SIMPLE)
    counts = [line.n for line in board.lines]
    # The notes say how many samples there are; how many runs a group has is not the same for all.
    counted = len(set(counts)) > 1 or board.counted != "n"
    for label in (", ".join(board.heads), *([board.counted] if counted else [])):
        table.add_column(label, overflow="fold")
    for label in ("", "Δ"):
        table.add_column(label, justify="right", no_wrap=True)
    for metric in board.metrics:
        table.add_row(Text(head(metric)), style="italic")
        for line in board.lines:
            labels = [Text(line.name), *([Text(f"{line.n:,}")] if counted else [])]
            style = "bold" if line.baseline else None
            last = line is board.lines[-1]
            table.add_row(*labels, *_texts(line, metric), style=style, end_section=last)
    return table


def _texts(line: Line, metric: str) -> list[Text]:
    """The number, and the difference where there is one."""
    cell = line.cells[metric]
    found = [Text(measured(metric, cell))]
    if cell.gap is not None:
        found.append(Text(gap_text(metric, cell.gap), style=COLORS[cell.verdict(metric)]))
    return found
