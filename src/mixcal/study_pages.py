"""The pages of docs/evidence: every table there is made from committed files, by one command.

    mixcal study --tables

A table stands between two markers; the first says what it is made of:

    <!-- table: calibratemix-fashion labels=25 split=validation metrics=error,ece_15 -->
    <!-- end -->

shows the study studies/calibratemix-fashion.toml: the combinations with labels 25, another split
and other metrics than the study's own. "labels=25|50" shows these two, in this order. Quote what
has a space in it. And

    <!-- records: ledger columns=storage,update_ms -->
    <!-- end -->

has one line for every JSON file of docs/evidence/rows/ledger, with these keys of it ("a.b": key b
of the table a).
"""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mixcal.core.errors import BadInput
from mixcal.study import Study, read_study
from mixcal.study_table import table

BEGIN = re.compile(r"^<!-- (table|records): (.+?) -->$", re.MULTILINE)
END = "<!-- end -->"
# What a marker can change of a study's own table.
CHANGES = ("metrics", "split", "weights", "against")


def pages(folder: Path) -> list[Path]:
    """The pages of the folder, and those beside it that hold a table."""
    beside = (page for page in folder.parent.glob("*.md") if BEGIN.search(page.read_text()))
    return sorted([*folder.rglob("*.md"), *beside])


def regenerated(page: Path, *, studies: Path, rows: Path) -> str:
    """The text of a page with all its tables made anew."""
    content, place, made = page.read_text(), 0, []
    for match in BEGIN.finditer(content):
        close = content.find(END, match.end())
        following = BEGIN.search(content, match.end())
        if close < 0 or (following is not None and following.start() < close):
            raise BadInput(f"{page}: the marker {match[0]} is not followed by {END}.")
        words = shlex.split(match[2])
        make = study_table if match[1] == "table" else records_table
        text = make(words, where=f"{page}: {match[0]}", studies=studies, rows=rows)
        made.append(f"{content[place : match.end()]}\n\n{text}\n")
        place = close
    return "".join([*made, content[place:]])


def settings(words: list[str], *, where: str) -> dict[str, str]:
    """The key=value words of a marker."""
    if wrong := [word for word in words if "=" not in word]:
        raise BadInput(f"{where}: {wrong[0]!r} is no key=value; quote values that have spaces.")
    return dict(word.partition("=")[::2] for word in words)


def study_table(words: list[str], *, where: str, studies: Path, rows: Path) -> str:
    """A study's table as its marker wants it."""
    study = read_study(studies / f"{words[0]}.toml")
    # Rows lie where the pages are, whatever folder the command runs in.
    study = replace(study, rows=str(rows / Path(study.rows).name))
    found = settings(words[1:], where=where)
    chosen = {axis: words.split("|") for axis, words in found.items() if axis not in CHANGES}
    for axis, choices in chosen.items():
        for choice in choices:
            if choice not in study.axes.get(axis, {}):
                known = [*study.axes, *CHANGES] if axis not in study.axes else [*study.axes[axis]]
                raise BadInput(f"{where}: there is no {axis}={choice}; known: {', '.join(known)}.")
    several = {
        axis: {name: study.axes[axis][name] for name in choices}
        for axis, choices in chosen.items()
        if len(choices) > 1
    }
    alone = {axis: choices[0] for axis, choices in chosen.items() if len(choices) == 1}
    return table(_changed(replace(study, axes={**study.axes, **several}), found), alone)


def _changed(study: Study, found: Mapping[str, str]) -> Study:
    """The study with the table that the marker asks for."""
    shown = study.table
    if "metrics" in found:
        shown = replace(shown, metrics=tuple(found["metrics"].split(",")))
    if "against" in found:
        axis, _, choice = found["against"].partition(":")
        shown = replace(shown, against={axis: choice} if axis else {})
    shown = replace(
        shown,
        split=found.get("split", shown.split),
        weights=found.get("weights", shown.weights),
    )
    return replace(study, table=shown)


def records_table(words: list[str], *, where: str, studies: Path, rows: Path) -> str:
    """One line a JSON file."""
    columns = settings(words[1:], where=where).get("columns", "").split(",")
    files = sorted((rows / words[0]).glob("*.json"))
    if not files:
        raise BadInput(f"{where}: {rows / words[0]} holds no JSON files.")
    lines = ["| " + " | ".join(column.replace("_", " ") for column in columns) + " |"]
    lines.append("|" + " --- |" * len(columns))
    for file in files:
        record = json.loads(file.read_text())
        lines.append("| " + " | ".join(shown_value(record, column) for column in columns) + " |")
    return "\n".join(lines) + "\n"


def shown_value(record: Any, column: str) -> str:
    """One entry of a record; blank where there is none."""
    for key in column.split("."):
        record = record.get(key) if isinstance(record, Mapping) else None
    if isinstance(record, float):
        return f"{record:.4g}"
    return "" if record is None else str(record)
