"""`mixcal judge`: every number about the confidence of finished predictions, with its interval."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixcal.commands.score_kinds import add_kind
from mixcal.core.errors import BadInput

if TYPE_CHECKING:
    from mixcal.core.predictions import Kind, Predictions


def add_options(parser: argparse.ArgumentParser) -> None:
    """What to judge, by which rules, and what else is known."""
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="predictions (.npz, .csv, .parquet) or a run folder"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--bins", type=int, metavar="M", help="number of bins (default: 15)")
    parser.add_argument("--closed", choices=("right", "left"), help="(lo, hi], or [lo, hi)")
    parser.add_argument(
        "--level", type=float, default=0.95, help="of the intervals (default: 0.95)"
    )
    parser.add_argument(
        "--like",
        default="mixcal",
        metavar="NAME",
        help="another package's or paper's conventions: torchmetrics, netcal …",
    )
    add_kind(parser)
    parser.add_argument("--top-k", type=int, metavar="K", help="top-k accuracy, too (default: 5)")
    parser.add_argument(
        "--humans", type=Path, metavar="FILE", help="what people say: .npz with counts a sample"
    )
    parser.add_argument(
        "--ood",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="the same network's predictions on foreign samples; may be repeated",
    )
    parser.add_argument("--per-class", action="store_true", help="error and ECE of every class")
    parser.add_argument(
        "--cuts", metavar="A,B", help="where head, medium and tail classes part (default: thirds)"
    )
    parser.add_argument(
        "--hardest",
        type=int,
        default=10,
        metavar="N",
        help="how many of a run's hardest samples to list and show (default: 10)",
    )
    parser.add_argument(
        "--sheet",
        type=Path,
        metavar="FILE",
        help="write a page with pictures of a run's hardest samples and wrong pseudo-labels",
    )


def run(options: argparse.Namespace) -> int:
    """Judge and print."""
    judged = judge(options)
    if options.json:
        from mixcal.judging.report.figures import finite

        print(json.dumps(finite(judged), allow_nan=False))
        return 0
    from mixcal.commands.judgement_table import print_judgement

    print_judgement(judged)
    return 0


def judge(options: argparse.Namespace) -> dict[str, Any]:
    """One object; of a run folder, the numbers of what matters most and of everything else."""
    from mixcal.judging.reading import prediction_files, read_predictions
    from mixcal.training.disk import check_place

    if options.hardest < 0:
        raise BadInput(f"--hardest {options.hardest}: give the number of samples to list.")
    if options.sheet is not None and not options.file.is_dir():
        raise BadInput(f"--sheet shows what training left in a run folder; {options.file} is none.")
    if options.sheet is not None:
        check_place(options.sheet)
    files = prediction_files(options.file)
    made: dict[str, dict[str, Any]] = {}
    for name, path in files.items():
        predictions = read_predictions(path, options.kind)
        made[name] = {"file": str(path), **_numbers(options, predictions, first=not made)}
    first = next(iter(made.values()))
    if not options.file.is_dir():
        return first
    return {**first, "run": str(options.file), "predictions": made, **_training(options)}


def _numbers(
    options: argparse.Namespace, predictions: "Predictions", *, first: bool
) -> dict[str, Any]:
    """The metrics, and what else can be said; comparisons with other files for the first only."""
    from mixcal.judging import further
    from mixcal.judging.samples import Samples
    from mixcal.judging.summary import summarized

    level = options.level
    summary = summarized(
        predictions, bins=options.bins, level=level, closed=options.closed, like=options.like
    )
    bins, samples = summary["bins"], Samples.of(predictions)
    more: dict[str, Any] = {"brier_parts": further.brier_parts(samples, bins=bins, level=level)}
    classes = summary["classes"]
    k = min(5, classes) if options.top_k is None else options.top_k
    more[f"top_{k}_accuracy"] = further.top_k(predictions, k=k, level=level)
    more["positive_class_ece"] = further.positive_class(predictions, bins=bins, level=level)
    more["groups"] = further.groups(
        predictions, samples, cuts=_cuts(options.cuts), bins=bins, level=level
    )
    if options.per_class:
        more["per_class"] = further.every_class(predictions, samples, bins=bins, level=level)
    more["piece"] = further.near_and_far(predictions, samples, bins=bins, level=level)
    if first:
        more |= _compared(options, predictions, bins)
    return summary | {"further": {name: value for name, value in more.items() if value is not None}}


def _compared(options: argparse.Namespace, predictions: "Predictions", bins: int) -> dict[str, Any]:
    """Against people and against foreign samples."""
    from mixcal.judging import further
    from mixcal.judging.reading import read_foreign, read_shares

    found: dict[str, Any] = {}
    if options.humans is not None:
        predictions = further.with_people(predictions, read_shares(options.humans))
    if predictions.label_distributions is not None:
        found["humans"] = further.people(predictions, bins=bins, level=options.level)
    if options.ood:
        kind: Kind | None = options.kind
        others: Mapping[str, Predictions] = {
            str(path): read_foreign(path, kind) for path in options.ood
        }
        found["ood"] = further.foreign(predictions, others, level=options.level)
    return found


def _training(options: argparse.Namespace) -> dict[str, Any]:
    """What training left: hardest and likely mislabeled samples, wrong pseudo-labels, a sheet."""
    from mixcal.judging import further
    from mixcal.judging.report.run_files import training_files

    margins, mistakes = training_files(options.file)
    found: dict[str, Any] = {}
    if margins is not None:
        found["hardest"] = further.hardest(margins, count=options.hardest)
        found["likely_mislabeled"] = further.likely_mislabeled(margins)
    if mistakes is not None:
        found["wrong_pseudo_labels"] = further.wrong_pseudo_labels(mistakes, count=options.hardest)
    if options.sheet is not None:
        from mixcal.judging.report.run_page import sheets_page, training_sheets
        from mixcal.reporting import looks_of_run
        from mixcal.training.disk import write_text

        sheets = training_sheets(margins, mistakes, looks_of_run(options.file), options.hardest)
        if not sheets:
            raise BadInput(
                f"{options.file} remembers no samples; train it with the calibrator "
                '"margins" or "calibratemix".'
            )
        write_text(options.sheet, sheets_page(options.file.resolve().name, sheets))
        found["sheet"] = str(options.sheet)
    return found


def _cuts(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    try:
        first, second = (int(part) for part in text.split(","))
    except ValueError:
        raise BadInput(f"--cuts {text!r}: give two numbers of classes, as in 36,71.") from None
    return first, second
