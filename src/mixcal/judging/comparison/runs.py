"""Runs against a baseline run: every number, and its paired difference on the same samples."""

import math
from collections.abc import Sequence

import numpy as np

from mixcal.core.errors import BadInput
from mixcal.judging.comparison.contenders import Contender
from mixcal.judging.comparison.pairing import paired
from mixcal.judging.comparison.scoreboard import Cell, Gap, Line, Scoreboard
from mixcal.judging.metrics.paired import REPLICATES, paired_difference
from mixcal.judging.metrics.paired_columns import PAIRED
from mixcal.judging.samples import Samples

# How the interval of a difference is made; all others are norms of gaps.
SHARES, REVERSED, NORMS = "Agresti & Min", "paired bootstrap", "inverted test of paired bootstrap"
HOW = {
    "accuracy": SHARES,
    "error": SHARES,
    **dict.fromkeys(("nll", "brier", "mean_confidence", "aurc", "confidence_auroc"), REVERSED),
}


def baseline_of(contenders: Sequence[Contender], against: str | None) -> Contender:
    """The first, or the one with this name or path."""
    if against is None:
        return contenders[0]
    for one in contenders:
        if against == one.name or against.rstrip("/") == str(one.path):
            return one
    raise BadInput(
        f"--against {against}: none of the runs is called so; name one of "
        f"{', '.join(one.name for one in contenders)}."
    )


def compared_runs(
    contenders: Sequence[Contender],
    baseline: Contender,
    metrics: Sequence[str],
    *,
    replicates: int = REPLICATES,
) -> Scoreboard:
    """One line a run; contenders are paired with the baseline by the ids of their samples."""
    ordered = paired(contenders, baseline)
    summary = baseline.judged.summary
    level, bins = float(summary["level"]), int(summary["bins"])
    samples = {one.name: Samples.of(one.judged.predictions) for one in ordered}
    lines = []
    for one in ordered:
        cells = {}
        for metric in metrics:
            found = one.judged.summary["metrics"][metric]
            gap = None
            if one.name != baseline.name and metric in PAIRED and _finite(metric, one, baseline):
                difference = paired_difference(
                    samples[one.name],
                    samples[baseline.name],
                    metric,
                    bins=bins,
                    level=level,
                    replicates=replicates,
                )
                gap = Gap(
                    value=difference.value,
                    low=difference.low,
                    high=difference.high,
                    how=HOW.get(metric, NORMS),
                )
            cells[metric] = Cell(
                value=found["value"], low=found["low"], high=found["high"], gap=gap
            )
        is_baseline = one.name == baseline.name
        lines.append(
            Line(
                labels=(one.name,),
                n=len(one.judged.predictions),
                cells=cells,
                baseline=is_baseline,
            )
        )
    return Scoreboard(
        heads=("run",),
        counted="n",
        metrics=tuple(metrics),
        lines=tuple(lines),
        level=level,
        notes=(*notes(baseline, metrics, len(ordered), replicates), *_twins(ordered, baseline)),
    )


def notes(
    baseline: Contender, metrics: Sequence[str], runs: int, replicates: int
) -> tuple[str, ...]:
    """What one has to know to read the lines."""
    predictions, summary = baseline.judged.predictions, baseline.judged.summary
    percent = round(100 * float(summary["level"]))
    said = [
        f"{predictions.split}, n = {len(predictions):,}, {summary['bins']} bins of equal width.",
        f"Δ: minus {baseline.name} on the same samples, with {percent} % intervals"
        f"{_ways(metrics, replicates)}; * marks intervals that exclude zero.",
    ]
    if tests := (runs - 1) * sum(metric in PAIRED for metric in metrics):
        said.append(
            f"Of {tests} difference{'s' if tests > 1 else ''} between equal models "
            f"{tests * (1 - float(summary['level'])):.2g} would be marked by chance."
        )
    unpaired = [metric for metric in metrics if metric not in PAIRED]
    if unpaired:
        said.append(f"No paired difference is known for {', '.join(unpaired)}.")
    return tuple(said)


def _ways(metrics: Sequence[str], replicates: int) -> str:
    """How the intervals of these metrics are made."""
    by: dict[str, list[str]] = {}
    for metric in metrics:
        if metric in PAIRED:
            by.setdefault(HOW.get(metric, NORMS), []).append(metric)
    said = [f"{', '.join(some)}: {way}" for way, some in by.items()]
    if set(by) - {SHARES}:
        said.append(f"{replicates:,} replicates")
    return f" ({'; '.join(said)})" if said else ""


def _twins(contenders: Sequence[Contender], baseline: Contender) -> list[str]:
    """A sentence for every contender that predicts the very same."""
    scores = baseline.judged.predictions.scores
    return [
        f"{one.name} and {baseline.name} predict exactly the same."
        for one in contenders
        if one.name != baseline.name and np.array_equal(one.judged.predictions.scores, scores)
    ]


def _finite(metric: str, *contenders: Contender) -> bool:
    return all(math.isfinite(one.value(metric)) for one in contenders)
