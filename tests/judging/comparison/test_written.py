"""Scoreboards as text against tables written by hand, and CSV read back."""

import csv
import io
import math
import shutil
import subprocess

import pytest

from mixcal.judging.comparison.scoreboard import Cell, Gap, Line, Scoreboard
from mixcal.judging.comparison.written import (
    comma_separated,
    escaped,
    figure,
    gap_text,
    latex,
    markdown,
    measured,
)

BASE = {
    "error": Cell(value=0.2361, low=0.2095, high=0.2649),
    "nll": Cell(value=1.07032, low=1.01, high=1.12),
}
OTHER = {
    "error": Cell(
        value=0.2241,
        low=0.2,
        high=0.25,
        gap=Gap(value=-0.012, low=-0.02, high=-0.004, how="paired bootstrap"),
    ),
    "nll": Cell(
        value=1.2, low=1.1, high=1.3, gap=Gap(value=0.12968, low=-0.01, high=0.3, how="Welch")
    ),
}
BOARD = Scoreboard(
    heads=("run",),
    counted="n",
    metrics=("error", "nll"),
    lines=(
        Line(labels=("a_1",), n=1898, cells=BASE, baseline=True),
        Line(labels=("b|2",), n=1898, cells=OTHER),
    ),
    level=0.95,
    notes=("Δ: minus a_1; * marks.",),
)


def test_markdown() -> None:
    assert markdown(BOARD) == (
        "| run | n | error % | Δ error % | NLL | Δ NLL |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        "| a_1 | 1,898 | 23.61 (20.95 – 26.49) |  | 1.0703 (1.0100 – 1.1200) |  |\n"
        "| b\\|2 | 1,898 | 22.41 (20.00 – 25.00) | −1.20 [−2.00, −0.40] \\* "
        "| 1.2000 (1.1000 – 1.3000) | +0.1297 [−0.0100, +0.3000] |\n"
        "\n"
        "Δ: minus a_1; \\* marks.\n"
    )


def test_latex() -> None:
    lines = latex(BOARD).splitlines()
    assert lines[:2] == [r"% Needs \usepackage{booktabs}.", "% Δ: minus a_1; * marks."]
    assert lines[2] == r"\begin{tabular}{lrrrrr}"
    assert lines[4] == r"run & n & error \% & $\Delta$ error \% & NLL & $\Delta$ NLL \\"
    assert lines[6] == (
        r"a\_1 & 1,898 & $23.61$ {\scriptsize $[20.95, 26.49]$} & -- & "
        r"$1.0703$ {\scriptsize $[1.0100, 1.1200]$} & -- \\"
    )
    assert r"$-1.20^{*}$ {\scriptsize $[-2.00, -0.40]$}" in lines[7]
    assert r"$+0.1297$ {\scriptsize" in lines[7]
    assert lines[-1] == r"\end{tabular}"
    assert escaped("50 % & ~^\\{}#$_") == (
        r"50 \% \& \textasciitilde{}\textasciicircum{}\textbackslash{}\{\}\#\$\_"
    )


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_sets_it(tmp_path) -> None:
    page = "\\documentclass{article}\\usepackage{booktabs,amsmath}\\begin{document}\n"
    (tmp_path / "t.tex").write_text(page + latex(BOARD) + "\\end{document}\n")
    done = subprocess.run(
        ["pdflatex", "-interaction=batchmode", "-halt-on-error", "t.tex"], cwd=tmp_path
    )
    assert done.returncode == 0


def test_csv_holds_every_number_unrounded() -> None:
    rows = list(csv.DictReader(io.StringIO(comma_separated(BOARD))))
    assert [(row["run"], row["metric"]) for row in rows] == [
        ("a_1", "error"),
        ("a_1", "nll"),
        ("b|2", "error"),
        ("b|2", "nll"),
    ]
    assert rows[0]["difference"] == ""
    assert float(rows[1]["value"]) == 1.07032
    last = rows[3]
    assert (float(last["difference_low"]), last["differs"]) == (-0.01, "false")
    assert (last["interval_by"], last["against"], last["level"]) == ("Welch", "a_1", "0.95")
    assert rows[2]["differs"] == "true"


def test_a_group_says_mean_and_deviation() -> None:
    cell = Cell(value=0.2, deviation=0.0123)
    assert measured("error", cell) == "20.00 ± 1.23"
    assert measured("error", Cell(value=0.2)) == "20.00"
    assert gap_text("error", Gap(value=0.01, how="single run")) == "+1.00"
    assert gap_text("error", None) == ""


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("error", 0.12345, "12.35"),
        ("nll", 0.12345, "0.1235"),
        ("nll", math.inf, "∞"),
        ("confidence_auroc", math.nan, "–"),
    ],
)
def test_numbers_as_people_write_them(metric: str, value: float, text: str) -> None:
    assert figure(metric, value) == text


def test_signs() -> None:
    assert figure("error", 0.01, sign=True) == "+1.00"
    assert figure("error", -0.01, sign=True) == "−1.00"
    # What rounds to zero has no sign.
    assert figure("error", -0.00001, sign=True) == "0.00"


def test_the_record_says_what_differs() -> None:
    record = BOARD.record()
    assert record["against"] == "a_1"
    first, second = record["lines"]
    assert first["metrics"]["error"] == {"value": 0.2361, "low": 0.2095, "high": 0.2649}
    assert second["metrics"]["error"]["difference"] == {
        "value": -0.012,
        "low": -0.02,
        "high": -0.004,
        "how": "paired bootstrap",
        "differs": True,
    }
