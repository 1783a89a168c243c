"""What `mixcal judge` shows a person."""

import math
from typing import Any

from rich.console import Console
from rich.table import Table

# What is a share of something, shown in per cent.
SHARES = frozenset({"accuracy", "error", "mean_confidence"})
TITLES = {
    "ece": "ECE",
    "adaptive_ece": "adaptive ECE",
    "classwise_ece": "classwise ECE",
    "mce": "MCE",
    "rms_ce": "RMS calibration error",
    "ace": "ACE",
    "oe": "overconfidence (OE)",
    "ue": "underconfidence (UE)",
    "oe_weighted": "OE × confidence",
    "ue_weighted": "UE × confidence",
    "debiased_ece": "debiased RMS error",
    "smooth_ece": "smooth ECE",
    "kde_ece": "KDE-ECE",
    "ks": "KS",
    "nll": "NLL",
    "brier": "Brier score",
    "aurc": "AURC",
    "confidence_auroc": "AUROC of confidence",
    "mean_confidence": "mean confidence",
}


def print_judgement(judged: dict[str, Any]) -> None:
    """The table of the metrics, then whatever else is there."""
    console = Console()
    if "predictions" in judged:
        console.print(_files(judged["predictions"]))
    console.print(judged["file"], highlight=False, markup=False, soft_wrap=True)
    console.print(_metrics(judged))
    band = judged["null_band"]
    percent = round(100 * judged["level"])
    console.print(
        f"A perfectly calibrated model with these confidences would show an ECE of "
        f"{band['low']:.4f} – {band['high']:.4f} ({percent} %).",
        highlight=False,
    )
    _print_further(console, judged["further"])
    for split, rows in judged.get("hardest", {}).items():
        console.print(_hardest(split, rows))
    _print_training(console, judged)


def _metrics(judged: dict[str, Any]) -> Table:
    percent = round(100 * judged["level"])
    ends = "(lo, hi]" if judged["closed"] == "right" else "[lo, hi)"
    like = "" if judged["like"] == "mixcal" else f", like {judged['like']}"
    table = Table(
        title=f"n = {judged['n']:,}, {judged['classes']} classes, "
        f"{judged['bins']} bins {ends}{like}"
    )
    table.add_column("metric")
    table.add_column("value", justify="right")
    table.add_column(f"{percent} % interval", justify="right")
    table.add_column("interval by")
    for name, numbers in judged["metrics"].items():
        table.add_row(
            TITLES.get(name, name),
            shown(numbers["value"], name in SHARES),
            between(numbers, name in SHARES),
            judged["intervals"][name],
        )
    return table


def _files(predictions: dict[str, dict[str, Any]]) -> Table:
    table = Table(title="all predictions of the run")
    for column in ("predictions", "n", "error", "ECE", "NLL", "Brier score"):
        table.add_column(column, justify="left" if column == "predictions" else "right")
    for name, judged in predictions.items():
        numbers = judged["metrics"]
        table.add_row(
            name,
            f"{judged['n']:,}",
            with_interval(numbers["error"], share=True),
            with_interval(numbers["ece"]),
            shown(numbers["nll"]["value"]),
            shown(numbers["brier"]["value"]),
        )
    return table


def _print_further(console: Console, further: dict[str, Any]) -> None:
    for name, value in further.items():
        if name.startswith("top_") or name == "positive_class_ece":
            title = name.replace("_", "-", 1).replace("_", " ")
            console.print(f"{title}: {with_interval(value, share='top' in name)}", highlight=False)
        elif name in ("brier_parts", "piece"):
            parts = ", ".join(
                f"{key} {part if key == 'n' else with_interval(part)}"
                for key, part in value.items()
            )
            console.print(f"{name.replace('_', ' ')}: {parts}", highlight=False)
        elif name in ("groups", "per_class"):
            console.print(_groups(name, value))
        elif name == "humans":
            console.print(_humans(value))
        elif name == "ood":
            for file, scores in value.items():
                console.print(_foreign(file, scores))


def _groups(name: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=name.replace("_", " "))
    for column in ("name", "classes", "n", "error", "ECE", "mean confidence"):
        table.add_column(column, justify="left" if column == "name" else "right")
    for row in rows:
        table.add_row(
            row["name"],
            str(row["classes"]),
            f"{row['n']:,}",
            with_interval(row["error"], share=True),
            with_interval(row["ece"]),
            shown(row["mean_confidence"]["value"], share=True),
        )
    return table


def _humans(found: dict[str, Any]) -> Table:
    table = Table(title=f"against what people say, n = {found['n']:,}")
    table.add_column("metric")
    table.add_column("value", justify="right")
    for name in ("cross_entropy", "divergence", "total_variation", "calibration_error"):
        table.add_row(name.replace("_", " "), with_interval(found[name]))
    return table


def _foreign(file: str, scores: dict[str, Any]) -> Table:
    first = next(iter(scores.values()))
    table = Table(title=f"{file}: {first['familiar']:,} familiar, {first['foreign']:,} foreign")
    for column in ("score", "AUROC", "AUPR out", "AUPR in", "FPR@95 out", "FPR@95 in"):
        table.add_column(column, justify="left" if column == "score" else "right")
    for name, found in scores.items():
        table.add_row(
            name,
            with_interval(found["auroc"]),
            with_interval(found["aupr_out"]),
            with_interval(found["aupr_in"]),
            with_interval(found["fpr95_out"], share=True),
            with_interval(found["fpr95_in"], share=True),
        )
    return table


def _hardest(split: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=f"hardest {split} samples, by their average margin in training")
    for column in ("id", "label", "margin", "visits"):
        table.add_column(column, justify="right" if column in ("margin", "visits") else "left")
    for row in rows:
        table.add_row(
            str(row["id"]), str(row["label"]), f"{row['margin']:.3f}", f"{row['visits']:,}"
        )
    return table


def _print_training(console: Console, judged: dict[str, Any]) -> None:
    if suspects := judged.get("likely_mislabeled"):
        console.print(
            f"likely mislabeled: {suspects['negative']:,} of {suspects['n']:,} labeled samples: "
            "the network kept another class ahead (negative average margin); --json names all",
            highlight=False,
            soft_wrap=True,
        )
    if wrong := judged.get("wrong_pseudo_labels"):
        console.print(
            f"wrong pseudo-labels at the end: {wrong['wrong']:,} of {wrong['n']:,}",
            highlight=False,
        )
        table = Table(title="the most confident of them")
        for column in ("id", "says", "label", "confidence"):
            table.add_column(column, justify="right" if column == "confidence" else "left")
        for row in wrong["most_confident"]:
            table.add_row(
                str(row["id"]), row["says"], row["label"], shown(row["confidence"], share=True)
            )
        console.print(table)
    if "sheet" in judged:
        console.print(f"pictures: {judged['sheet']}", highlight=False, markup=False)


def with_interval(numbers: dict[str, float], *, share: bool = False) -> str:
    """0.0310 (0.0250 – 0.0390)."""
    return f"{shown(numbers['value'], share)} ({between(numbers, share)})"


def between(numbers: dict[str, float], share: bool = False) -> str:
    """0.0250 – 0.0390."""
    return f"{shown(numbers['low'], share)} – {shown(numbers['high'], share)}"


def shown(value: float, share: bool = False) -> str:
    """Four decimals, or per cent with two; ∞ where it is."""
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{100 * value:.2f} %" if share else f"{value:.4f}"
