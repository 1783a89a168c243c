"""The page of a comparison: runs side by side in one HTML file that needs nothing but a browser."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mixcal.judging.comparison.contenders import Contender
from mixcal.judging.comparison.recipe_keys import differing
from mixcal.judging.comparison.scoreboard import Cell, Gap, Line, Scoreboard
from mixcal.judging.comparison.written import figure as written
from mixcal.judging.comparison.written import gap_text, measured
from mixcal.judging.report.disagreements import disagreement_sheets
from mixcal.judging.report.figures import figure
from mixcal.judging.report.galleries import Look
from mixcal.judging.report.run_page import embedded, render
from mixcal.judging.report.wording import PLAIN, TITLES, explained

# Up to so many diagrams are shown side by side at once, and so many pairs have their pictures.
MOST_TOGETHER, MOST_PAIRS = 4, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonReport:
    """What a comparison's page shows: paired contenders, their numbers, and their groups if any.

    `look` finds pictures by position in the baseline's order.
    """

    contenders: Sequence[Contender]
    board: Scoreboard
    groups: Scoreboard | None = None
    look: Look | None = None

    @property
    def baseline(self) -> Contender:
        """What the others are held against."""
        return next(one for one in self.contenders if one.name == self.board.against)

    @property
    def others(self) -> list[Contender]:
        """All but the baseline."""
        return [one for one in self.contenders if one is not self.baseline]


def comparison_page(report: ComparisonReport) -> str:
    """The page as text."""
    board, baseline = report.board, report.baseline
    # Of groups the means are told, not every run.
    told = report.groups or board
    summary = baseline.judged.summary
    data = {
        "bins": summary["bins"],
        "figures": [figure(one.judged) | {"caption": one.name} for one in report.contenders],
        "views": views(report),
        "bars": [bars(board, metric) for metric in board.metrics],
    }
    shown = report.others[:MOST_PAIRS]
    boards = [("The numbers", "numbers", board)]
    if report.groups is not None:
        boards.insert(0, ("The groups", "groups", report.groups))
    return render(
        "comparison.html",
        title=title(report),
        facts={
            "held against": baseline.name,
            "split": baseline.judged.split,
            "samples": f"{len(baseline.judged.predictions):,}",
            "classes": str(summary["classes"]),
        },
        verdicts=[sentence(line, told) for line in told.lines if not line.baseline],
        boards=[(head, name, one, rows(one)) for head, name, one in boards],
        titles={metric: TITLES.get(metric, metric) for metric in TITLES},
        numbers=[row for row in explained(summary) if row["metric"] in board.metrics],
        baseline=baseline.name,
        bins=summary["bins"],
        disagreements=[
            (one.name, disagreement_sheets(baseline, one, report.look)) for one in shown
        ],
        left_out=len(report.others) - len(shown),
        names=[one.name for one in report.contenders],
        keys=differing([one.recipe for one in report.contenders]),
        data=embedded(data),
    )


def title(report: ComparisonReport) -> str:
    """Who is compared; of many only how many."""
    names = [one.name for one in report.others]
    others = " and ".join(names) if len(names) < 3 else f"{len(names)} runs"
    return f"{others} against {report.baseline.name}"


def views(report: ComparisonReport) -> list[dict[str, Any]]:
    """What can be seen side by side: everything, and each contender beside the baseline."""
    names = [one.name for one in report.contenders]
    base = names.index(report.baseline.name)
    split = report.baseline.judged.split
    pairs = [
        {"split": split, "name": f"{names[base]} and {name}", "figures": [base, i]}
        for i, name in enumerate(names)
        if i != base
    ]
    if len(names) == 2:
        return pairs
    everything = {"split": split, "name": "all", "figures": list(range(len(names)))}
    return [everything, *pairs] if len(names) <= MOST_TOGETHER else [*pairs, everything]


def bars(board: Scoreboard, metric: str) -> dict[str, Any]:
    """A metric of all lines, and the differences."""
    return {
        "title": TITLES.get(metric, metric),
        "percent": metric not in PLAIN,
        "rows": [bar(line, metric) for line in board.lines],
    }


def bar(line: Line, metric: str) -> dict[str, Any]:
    """One line's number as a bar, and its difference."""
    cell = line.cells[metric]
    made: dict[str, Any] = {
        "name": line.name,
        "value": cell.value,
        "low": cell.low,
        "high": cell.high,
        "text": measured(metric, cell),
        "gap": None,
    }
    if cell.gap is not None:
        made["gap"] = {
            "value": cell.gap.value,
            "low": cell.gap.low,
            "high": cell.gap.high,
            "text": gap_text(metric, cell.gap),
            "verdict": cell.verdict(metric),
        }
    return made


def rows(board: Scoreboard) -> list[dict[str, Any]]:
    """The lines of a table of the page."""
    return [
        {
            "labels": line.labels,
            "n": f"{line.n:,}",
            "cells": [
                (*_value(m, line.cells[m]), _difference(m, line.cells[m])) for m in board.metrics
            ],
        }
        for line in board.lines
    ]


def sentence(line: Line, board: Scoreboard) -> tuple[str, str]:
    """The run, and in which numbers it is better, worse, or not to be told from the baseline."""
    told: dict[str, list[str]] = {}
    for metric in board.metrics:
        cell = line.cells[metric]
        if cell.gap is None:
            continue
        verdict = cell.verdict(metric)
        name = TITLES.get(metric, metric)
        amount = f" ({written(metric, cell.gap.value, sign=True)}{_unit(metric)})"
        told.setdefault(verdict, []).append(name + (amount if verdict else ""))
    parts = [
        f"{word} in {_and(told[verdict])}"
        for verdict, word in (("better", "better"), ("worse", "worse"), ("different", "different"))
        if verdict in told
    ]
    if "" in told:
        parts.append(f"not to be told from it in {_and(told[''])}")
    return line.name, "; ".join(parts) or "no number can be compared"


def _value(metric: str, cell: Cell) -> tuple[str, str]:
    value = written(metric, cell.value) + ("\u00a0%" if _unit(metric) else "")
    if cell.deviation is not None:
        return value, f"± {written(metric, cell.deviation)}"
    if cell.low is None or cell.high is None:
        return value, ""
    return value, f"{written(metric, cell.low)} – {written(metric, cell.high)}"


def _difference(metric: str, cell: Cell) -> tuple[str, str, str]:
    """The difference, its interval, and the classes that color it."""
    gap: Gap | None = cell.gap
    if gap is None:
        return "", "", ""
    ends = ""
    if gap.low is not None and gap.high is not None:
        ends = " – ".join(written(metric, end, sign=True) for end in (gap.low, gap.high))
    value = written(metric, gap.value, sign=True) + ("\u00a0*" if gap.differs else "")
    return value, ends, f"differs {cell.verdict(metric)}" if gap.differs else ""


def _unit(metric: str) -> str:
    return "" if metric in PLAIN else "\u00a0points"


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
