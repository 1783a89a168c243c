"""The page of one run, or of one prediction file: everything judging knows, in one HTML file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mixcal.core.errors import BadInput
from mixcal.core.margins import Margins
from mixcal.core.pseudo_mistakes import PseudoMistakes
from mixcal.judging.report.curves import Line, charts
from mixcal.judging.report.figures import compact, figure
from mixcal.judging.report.galleries import (
    SHOWN,
    Look,
    Sheet,
    hardest_sheets,
    pseudo_sheets,
    sheets_of,
)
from mixcal.judging.report.judged import Judged
from mixcal.judging.report.wording import afterwards, explained, interval, number, verdict

TEMPLATES = Path(__file__).parent / "page"
SCRIPTS = ("drawing", "reliability", "lines", "tables", "bars", "controls")
# Columns of the headline table.
HEADLINE = ("error", "ece", "nll", "brier", "confidence_auroc")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What a run's page shows. The first judged set is the headline; the rest is optional."""

    title: str
    judged: Sequence[Judged]
    facts: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    log: Sequence[Line] = ()
    margins: Margins | None = None
    mistakes: PseudoMistakes | None = None
    looks: Mapping[str, Look] = field(default_factory=dict)
    recipe: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.judged:
            raise BadInput(f"{self.title}: there are no predictions to report; predict first.")


def run_page(report: RunReport) -> str:
    """The page as text; it needs nothing but a browser."""
    first = report.judged[0]
    sheets = sheets_of(first, report.looks)
    sheets += training_sheets(report.margins, report.mistakes, report.looks)
    data = {
        "bins": first.summary["bins"],
        "views": views(report.judged),
        "charts": charts(report.log),
    }
    return render(
        "run.html",
        title=report.title,
        facts=report.facts,
        remarks=report.remarks,
        verdict=verdict(first),
        afterwards=[afterwards(one) for one in report.judged if _rescales(one, first)],
        first=first,
        numbers=explained(first.summary),
        headline=headline(report.judged),
        sheets=sheets,
        recipe=report.recipe,
        environment=report.environment,
        data=embedded(data),
        charted=bool(data["charts"]),
    )


def training_sheets(
    margins: Margins | None,
    mistakes: PseudoMistakes | None,
    looks: Mapping[str, Look],
    count: int = SHOWN,
) -> list[Sheet]:
    """What training leaves to look at: wrong pseudo-labels, and the samples with small margins."""
    found = [] if mistakes is None else pseudo_sheets(mistakes, looks, count)
    return found if margins is None else found + hardest_sheets(margins, looks, count)


def sheets_page(title: str, sheets: Sequence[Sheet]) -> str:
    """Only sheets, as a page of their own."""
    return render("sheets.html", title=title, sheets=sheets, data="{}")


def _rescales(one: Judged, first: Judged) -> bool:
    """Whether this is the headline's own network and split after rescaling."""
    same = (one.split, one.name) == (first.split, first.name)
    return same and bool(one.rescaler) and not first.rescaler


def views(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """Figures shown together: those of one split and network, before and after rescaling."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in judged:
        figures = found.setdefault((one.split, one.name), [])
        figures.append(
            figure(one) | {"caption": f"after {one.rescaler}" if one.rescaler else "as predicted"}
        )
    return [
        {"split": split, "name": name, "figures": figures}
        for (split, name), figures in found.items()
    ]


def headline(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """The rows of the headline table."""
    rows = []
    for place, one in enumerate(judged):
        metrics = one.summary["metrics"]
        # Below the row of the same network the rescaler's name says enough.
        below = any(_rescales(one, other) for other in judged[:place])
        rows.append(
            {
                "title": f"after {one.rescaler}" if below else one.title,
                "split": one.split,
                "n": f"{one.summary['n']:,}",
                "rescaled": bool(one.rescaler),
                "cells": [
                    (number(name, metrics[name]["value"]), interval(name, metrics[name]))
                    for name in HEADLINE
                ],
                "band": interval("ece", one.summary["null_band"]),
            }
        )
    return rows


def embedded(data: Any) -> str:
    """JSON that may stand inside a <script>."""
    text = json.dumps(compact(data), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def render(template: str, **values: Any) -> str:
    """A template of the folder `page`, with styles and scripts inside."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = (TEMPLATES / "style.css").read_text()
    script = "\n".join((TEMPLATES / f"{name}.js").read_text() for name in SCRIPTS)
    return environment.get_template(template).render(style=style, script=script, **values)
