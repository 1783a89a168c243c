"""The page of a finished run, with pictures from the data it was trained on."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Int, UInt8

from mixcal.build import Prepared, prepare
from mixcal.core.errors import BadInput
from mixcal.data.pool import Pool
from mixcal.judging.comparison.contenders import Contender
from mixcal.judging.comparison.pairing import paired
from mixcal.judging.comparison.scoreboard import Scoreboard
from mixcal.judging.report.comparison_page import ComparisonReport, comparison_page
from mixcal.judging.report.galleries import Look
from mixcal.judging.report.run_files import report_of_run
from mixcal.judging.report.run_page import run_page
from mixcal.recipe import read_recipe
from mixcal.training.disk import write_text


def write_report(run: Path, prepared: Prepared | None = None, *, into: Path | None = None) -> Path:
    """Write `report.html` into the run's folder (or `into`), and say where it is."""
    target = run / "report.html" if into is None else into
    looks = looks_into(prepared) if prepared is not None else looks_of_run(run)
    write_text(target, run_page(report_of_run(run, looks)))
    return target


def write_comparison(
    contenders: Sequence[Contender],
    baseline: Contender,
    board: Scoreboard,
    groups: Scoreboard | None,
    *,
    into: Path,
) -> None:
    """The page of a comparison, with pictures if one of the runs still finds its data."""
    ordered = paired(contenders, baseline)
    report = ComparisonReport(
        contenders=ordered, board=board, groups=groups, look=look_of_any(ordered)
    )
    write_text(into, comparison_page(report))


def look_of_any(contenders: Sequence[Contender]) -> Look | None:
    """Pictures by position in the order that the contenders share."""
    for one in contenders:
        looks = {} if one.folder is None else looks_of_run(one.folder)
        if (look := looks.get(one.judged.split)) is not None:
            return rearranged(look, one.order)
    return None


def rearranged(look: Look, order: Int[np.ndarray, " n"]) -> Look:
    """Pictures by position in another order of the same samples."""

    def rearranged_look(positions: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m c h w"]:
        return look(order[positions])

    return rearranged_look


def looks_into(prepared: Prepared) -> dict[str, Look]:
    """Pictures of each split by position within it; nothing for text."""
    source, splits = prepared.source, prepared.splits
    if source.kind != "image":
        return {}
    validation = source.validation if splits.validation_from == "source" else source.train
    found: dict[str, tuple[Pool | None, Int[np.ndarray, " n"]]] = {
        "labeled": (source.train, splits.labeled),
        "unlabeled": (source.train, splits.unlabeled),
        "validation": (validation, splits.validation),
        "test": (source.test, splits.test),
    }
    return {
        name: _look(pool, index)
        for name, (pool, index) in found.items()
        if pool is not None and len(index)
    }


def _look(pool: Pool, index: Int[np.ndarray, " n"]) -> Look:
    def look(positions: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m c h w"]:
        return pool.take(index[positions]).cpu().numpy()

    return look


def looks_of_run(run: Path) -> dict[str, Look]:
    """The same from a run's recipe; nothing where its data cannot be found any more."""
    try:
        return looks_into(prepare(read_recipe(run / "recipe.toml")))
    except BadInput:
        return {}
