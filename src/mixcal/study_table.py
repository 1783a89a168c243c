"""The table of a study, from its committed rows: means, spreads and paired differences.

A line is one combination of choices. Δ is the difference to the choice the study holds everything
against, seed by seed: the mean of the pairs and a 95 % interval by Student's t over them.
"""

import itertools
import json
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mixcal.core.errors import BadInput
from mixcal.study import Cell, Study, cells, combinations, row_path

PERCENT = (
    *("error", "ece_15", "ece_10", "oe_15", "ue_15", "adaptive_ece", "classwise_ece"),
    *("debiased_ece", "oe_weighted", "aurc", "confidence_auroc", "confidence"),
    *("piece", "piece_official", "human_total_variation", "human_calibration_error"),
)
# Of the whole training, its evaluations among it.
PER_EPOCH = "cpu_seconds_per_epoch"
# Of groups of classes, of foreign samples, and far away from the data: see study_measures.py.
PERCENT_OF = ("error_", "ece_", "auroc_", "confidence_", "hull_accuracy_", "hull_confidence_")
# Shares of the last steps of training, as the log's last line has them.
PERCENT_READINGS = ("impurity_kept", "impurity_all", "kept_fraction", "wrong_partners")
TITLES = {
    "error": "error %",
    "ece_15": "ECE₁₅ %",
    "ece_10": "ECE₁₀ %",
    "oe_15": "OE %",
    "ue_15": "UE %",
    "adaptive_ece": "adaptive ECE %",
    "oe_weighted": "weighted OE %",
    "confidence": "confidence %",
    "human_cross_entropy": "cross-entropy to people",
    "human_divergence": "KL from people",
    "human_total_variation": "distance to people %",
    "human_calibration_error": "ECE to people %",
    "piece": "PIECE %",
    "piece_official": "PIECE as released %",
    PER_EPOCH: "CPU seconds an epoch",
    "nll": "NLL",
    "brier": "Brier",
    "impurity_kept": "impurity of the kept %",
    "impurity_all": "impurity of all %",
    "kept_fraction": "kept %",
    "wrong_partners": "wrong partners %",
}

# The same where a metric's name goes on: with a group, a foreign set or a distance.
TITLES_OF = {
    "auroc_entropy_": "AUROC by entropy, {} %",
    "auroc_": "AUROC, {} %",
    "confidence_": "confidence, {} %",
    "hull_accuracy_": "accuracy at {} %",
    "hull_confidence_": "confidence at {} %",
    "hull_entropy_": "entropy at {}",
    "error_": "error, {} %",
    "ece_": "ECE₁₅, {} %",
}

Choices = tuple[tuple[str, str], ...]
Row = Mapping[str, Any]
Rows = dict[Choices, dict[int, Row]]


def read_rows(study: Study) -> Rows:
    """The finished runs, by choices and seed."""
    found: Rows = {}
    for cell in cells(study):
        path = row_path(study, cell)
        if path.is_file():
            try:
                record = json.loads(path.read_text())
            except ValueError as error:
                raise BadInput(f"{path} is no row file ({error}); delete it.") from None
            found.setdefault(tuple(cell.choices.items()), {})[cell.seed] = record
    return found


def table(study: Study, where: Mapping[str, str] | None = None) -> str:
    """Markdown, one line a combination, and below it what one has to know to read it.

    `where` keeps the combinations with these choices; their columns are left out.
    """
    where = where or {}
    rows, metrics = read_rows(study), study.table.metrics
    shown = {c: why for c, why in combinations(study).items() if where.items() <= dict(c).items()}
    labels = study.table.weights.split("|")
    head = [axis for axis in study.axes if axis not in where]
    several = len(labels) > 1
    head += ["prediction"] * several
    head += ["seeds", *(title(name) for name in metrics)]
    if study.table.against:
        head += [f"Δ {title(name)}" for name in metrics]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for (choices, why), label in itertools.product(shown.items(), labels):
        one = replace(study, table=replace(study.table, weights=label))
        held = predicted(one, rows) if several else rows
        runs = held.get(choices, {})
        line = [choice for axis, choice in choices if axis not in where]
        line += [label] * several
        line += [why or f"{len(runs)} of {len(study.seeds)}"]
        line += [spread(numbers(one, runs.values(), name), name) for name in metrics]
        if study.table.against:
            line += [paired(one, held, choices, name) for name in metrics]
        lines.append("| " + " | ".join(line) + " |")
    used = {choices: runs for choices, runs in rows.items() if choices in shown}
    return "\n".join([*lines, "", notes(study, where, used)]) + "\n"


def notes(study: Study, where: Mapping[str, str], rows: Rows) -> str:
    """What the numbers are, and where the rows came from."""
    kept = "" if not where else " ".join(f"{axis}: {choice}." for axis, choice in where.items())
    weights = "" if "|" in study.table.weights else f", {study.table.weights}"
    said = [kept, f"Mean ± s.d. over seeds; {study.table.split} split{weights}."]
    if study.table.against:
        other = ", ".join(f"{axis} {choice}" for axis, choice in study.table.against.items())
        said.append(
            f"Δ: minus {other} with the same seed; mean of the pairs, 95 % interval "
            "(Student's t over the pairs), number of pairs."
        )
    runs = [run for some in rows.values() for run in some.values()]
    said.append(f"Rows: {counted(run.get('device', 'unknown device') for run in runs)}.")
    if runs:
        steps = sorted({run["method"]["steps"] for run in runs if run["method"].get("steps")})
        said.append(f"Steps a run: {', '.join(f'{some:,}' for some in steps) or 'by epochs'}.")
        said.append(f"CPU seconds a run: at most {max(run['cpu_seconds'] for run in runs):,.0f}.")
        said.append(f"Commits: {', '.join(sorted({run['commit'] for run in runs}))}.")
    wanted = sum(
        not why for c, why in combinations(study).items() if where.items() <= dict(c).items()
    )
    if len(runs) < wanted * len(study.seeds):
        said.append(f"Blank: not run yet ({len(runs)} of {wanted * len(study.seeds)} runs done).")
    return " ".join(part for part in said if part)


def counted(devices: Iterable[str]) -> str:
    """How many rows each device made."""
    found = sorted(Counter(devices).items())
    return ", ".join(f"{count} on {device}" for device, count in found) or "none"


def predicted(study: Study, rows: Rows) -> Rows:
    """The runs that were predicted as the table's weights say."""
    split, label = study.table.split, study.table.weights
    return {
        choices: {seed: run for seed, run in runs.items() if label in run["numbers"].get(split, {})}
        for choices, runs in rows.items()
    }


def number(study: Study, run: Row, metric: str) -> float | None:
    """One number of one run, in percent where that is usual; None if the run has none."""
    if metric == PER_EPOCH:
        epochs = run["method"].get("epochs")
        return float(run["cpu_seconds"]) / epochs if epochs else None
    split = run["numbers"].get(study.table.split, {})
    # A run without weight averaging has raw weights only.
    chosen = split.get(study.table.weights) or split.get("raw, last") or {}
    value = chosen.get(metric, run.get("last_readings", {}).get(metric))
    return None if value is None else float(value) * (100 if is_percent(metric) else 1)


def is_percent(metric: str) -> bool:
    """Whether the metric is a share."""
    return metric in PERCENT or metric in PERCENT_READINGS or metric.startswith(PERCENT_OF)


def title(metric: str) -> str:
    """The head of a metric's column."""
    if metric in TITLES:
        return TITLES[metric]
    for prefix, words in TITLES_OF.items():
        if metric.startswith(prefix):
            return words.format(metric.removeprefix(prefix))
    return metric


def numbers(study: Study, runs: Iterable[Row], metric: str) -> list[float]:
    """The numbers of those runs that have one."""
    found = (number(study, run, metric) for run in runs)
    return [value for value in found if value is not None]


def digits_of(metric: str) -> int:
    """Places behind the point."""
    if metric == PER_EPOCH:
        return 1
    return 2 if is_percent(metric) else 3


def spread(values: Sequence[float], metric: str) -> str:
    """Mean ± standard deviation."""
    if not values:
        return ""
    digits = digits_of(metric)
    mean = f"{statistics.fmean(values):.{digits}f}"
    return f"{mean} ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else mean


def differences(study: Study, rows: Rows, choices: Choices, metric: str) -> list[float]:
    """This combination minus the one it is held against, seed by seed."""
    against = study.table.against
    other = tuple((axis, against.get(axis, choice)) for axis, choice in choices)
    # A reference that was left out along an axis stands for all choices of that axis.
    reference = rows.get(other) or next(
        (
            runs
            for key, runs in rows.items()
            if all(dict(key).get(axis) == choice for axis, choice in against.items())
            and sum(dict(key)[axis] != choice for axis, choice in other) <= 1
        ),
        {},
    )
    ours = rows.get(choices, {})
    if ours is reference:
        return []
    pairs = (
        (number(study, ours[seed], metric), number(study, reference[seed], metric))
        for seed in sorted(ours.keys() & reference.keys())
    )
    return [a - b for a, b in pairs if a is not None and b is not None]


def paired(study: Study, rows: Rows, choices: Choices, metric: str) -> str:
    """Mean paired difference, its 95 % interval, and the number of pairs."""
    found = differences(study, rows, choices, metric)
    if not found:
        return ""
    digits = digits_of(metric)
    mean = statistics.fmean(found)
    if len(found) == 1:
        return f"{mean:+.{digits}f}, n 1"
    reach = half_width(found)
    return (
        f"{mean:+.{digits}f} [{mean - reach:+.{digits}f}, {mean + reach:+.{digits}f}], "
        f"n {len(found)}"
    )


def half_width(values: Sequence[float]) -> float:
    """Half of the 95 % interval of a mean by Student's t."""
    from scipy.stats import t

    return float(t.ppf(0.975, len(values) - 1)) * statistics.stdev(values) / len(values) ** 0.5


def missing(study: Study) -> list[Cell]:
    """The runs without a row."""
    return [cell for cell in cells(study) if not row_path(study, cell).is_file()]
