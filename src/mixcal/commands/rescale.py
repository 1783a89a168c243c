"""`mixcal rescale`: a rescaler fitted on validation predictions, applied to others."""

import argparse
import dataclasses
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mixcal.commands.score_kinds import add_kind
from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions
from mixcal.recipe import parsed_setting
from mixcal.training.folder import RunFolder

WEIGHTS = ("averaged", "raw", "best")


def add_options(parser: argparse.ArgumentParser) -> None:
    """A run folder, or the files to fit on and apply to; the method; where to."""
    parser.add_argument("run", nargs="?", type=Path, help="a run folder")
    parser.add_argument(
        "--fit", type=Path, metavar="FILE", help="validation predictions (.npz, .csv, .parquet)"
    )
    parser.add_argument(
        "--apply", type=Path, metavar="FILE", help="predictions to rescale (the same)"
    )
    add_kind(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="the rescaled predictions (.npz)")
    parser.add_argument(
        "--method", help="temperature (the default) or another name of docs/rescaling.md"
    )
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KNOB=VALUE",
        help="a knob of the method, for example --set criterion=grid-ece; may be repeated",
    )
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep the fitted method (.json)")
    parser.add_argument("--load", type=Path, metavar="FILE", help="apply a method kept before")
    parser.add_argument("--weights", choices=WEIGHTS, help="which weights of the run folder")
    parser.add_argument("--sets", choices=("lac", "aps", "raps"), help="make sets of classes")
    parser.add_argument("--coverage", type=float, default=0.9, help="of the sets (default 0.9)")
    parser.add_argument("--overwrite", action="store_true", help="replace files that are there")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    """Fit, apply, write, show before and after."""
    job = _run_job(options) if options.run is not None else _file_job(options)
    if options.sets:
        from mixcal.commands.sets import make_sets

        return make_sets(job, options)
    return _rescale(job, options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is fitted on and applied to, and where the results go (None: nowhere)."""

    fit: Predictions | None
    apply: Predictions
    method: str
    fitted: Path | None
    out: Path | None
    folder: RunFolder | None = None
    weights: str = ""


def _run_job(options: argparse.Namespace) -> Job:
    """A run folder's own validation and test predictions."""
    for given, name in (
        (options.fit, "--fit"),
        (options.apply, "--apply"),
        (options.load, "--load"),
        (options.kind, f"--{options.kind}"),
    ):
        if given is not None:
            raise BadInput(f"{name} is for prediction files; give a run folder or files, not both.")
    folder = RunFolder.open(options.run)
    weights = options.weights or _first_weights(folder)
    method = options.sets or options.method or "temperature"
    path = folder.predictions("validation", weights)
    if not path.is_file():
        raise BadInput(
            f"{folder.path} has no validation predictions of the {weights} weights ({path.name}); "
            "a run without validation data has nothing to fit a rescaler on."
        )
    test = folder.predictions("test", weights)
    if not test.is_file():
        raise BadInput(
            f"{folder.path} has no test predictions to rescale ({test.name} is missing)."
        )
    fit, apply = Predictions.load(path), Predictions.load(test)
    if not options.sets and _needs_features(method) and fit.features is None:
        fit, apply = _with_features(folder, weights, fit, apply)
    return Job(
        fit=fit,
        apply=apply,
        method=method,
        fitted=options.save or folder.rescaler(method, weights),
        out=options.out or folder.rescaled("test", method, weights),
        folder=folder,
        weights=weights,
    )


def _needs_features(method: str) -> bool:
    from mixcal.judging.rescaling.registry import needs_features

    return needs_features(method)


def _with_features(
    folder: RunFolder, weights: Any, fit: Predictions, apply: Predictions
) -> tuple[Predictions, Predictions]:
    """The run's predictions anew, for their features: training saved none."""
    from mixcal.commands.trained import trained_run
    from mixcal.conclusion import predictions_on

    run = trained_run(folder.path, weights=weights, rescaler=None, device="auto")
    found = []
    for saved, split in ((fit, "validation"), (apply, "test")):
        made = predictions_on(run.prepared, run.network, split, features=True)  # type: ignore[arg-type]  # a Split
        if not np.array_equal(made.ids, saved.ids):
            raise BadInput(
                f"{folder.path}: the {split} predictions are of other samples than the run's data "
                "now; restore the data."
            )
        found.append(replace(saved, features=made.features))
    return found[0], found[1]


def _first_weights(folder: RunFolder) -> str:
    """Averaged weights if the run has them."""
    averaged = folder.predictions("validation", "averaged").is_file()
    return "averaged" if averaged else "raw"


def _file_job(options: argparse.Namespace) -> Job:
    """Predictions of any origin."""
    from mixcal.judging.apart import check_apart
    from mixcal.judging.reading import read_predictions

    if options.apply is None or (options.fit is None) == (options.load is None):
        raise BadInput(
            "Give a run folder, or --fit VALIDATION.npz --apply TEST.npz, "
            "or --load FITTED.json --apply TEST.npz."
        )
    if options.weights:
        raise BadInput("--weights chooses among a run folder's predictions; files have none.")
    fit = None
    if options.fit is not None:
        # Whoever says "fit on this" says that it is not test data, unless the file says it is.
        fit = read_predictions(options.fit, options.kind, unsaid="validation")
        fit = replace(fit, source=str(options.fit))
    job = Job(
        fit=fit,
        apply=replace(read_predictions(options.apply, options.kind), source=str(options.apply)),
        method=options.sets or options.method or "temperature",
        fitted=options.save,
        out=options.out,
    )
    if fit is not None:
        check_apart(fit, job.apply)
    return job


def write_new(path: Path | None, write: Any, *, overwrite: bool) -> None:
    """Write a file unless it is there with other content."""
    from mixcal.training.disk import check_place, write_atomically

    if path is None:
        return
    check_place(path)
    if path.exists() and not overwrite:
        trial = path.with_name(f".{path.name}.new")
        try:
            write(trial)
            same = trial.read_bytes() == path.read_bytes()
        finally:
            trial.unlink(missing_ok=True)
        if same:
            return
        raise BadInput(f"{path} exists already and differs; give --overwrite or another name.")
    write_atomically(path, write)


def _rescale(job: Job, options: argparse.Namespace) -> int:
    from mixcal.judging.rescaling.registry import fit_rescaler, name_of, rescaled
    from mixcal.judging.rescaling.saving import load_rescaler, save_rescaler
    from mixcal.judging.summary import summarized

    if job.fit is None:
        if options.method or options.settings:
            raise BadInput("--load brings its own method and knobs; leave --method and --set out.")
        rescaler = load_rescaler(options.load)
    else:
        rescaler = fit_rescaler(job.method, job.fit, **knobs(options.settings))
    after = rescaled(rescaler, job.apply)
    write_new(job.fitted, lambda path: save_rescaler(rescaler, path), overwrite=options.overwrite)
    write_new(job.out, after.save, overwrite=options.overwrite)
    report = _reported(job, after, name_of(rescaler))
    judged = {"before": summarized(job.apply), name_of(rescaler): summarized(after)}
    values = plain_values(rescaler)
    fitted_on = len(job.fit) if job.fit is not None else None
    if options.json:
        record = {
            "rescaler": {"name": name_of(rescaler), **values},
            "fitted_on": fitted_on,
            "before": judged["before"],
            "after": judged[name_of(rescaler)],
        }
        from mixcal.judging.report.figures import finite

        print(json.dumps(finite(record), allow_nan=False))
        return 0
    _show(job, judged, values, fitted_on)
    if report is not None:
        print(f"report: {report}")
    return 0


def _reported(job: Job, after: Predictions, name: str) -> Path | None:
    """A run's judgement and page with the rescaled predictions that now lie in its folder."""
    folder = job.folder
    if (
        folder is None
        or not folder.finished()
        or job.out != folder.rescaled("test", name, job.weights)
    ):
        return None
    from mixcal.conclusion import note_rescaled
    from mixcal.exporting import LABELS
    from mixcal.reporting import write_report

    note_rescaled(folder, after, f"{LABELS[job.weights]}, {name}")
    return write_report(folder.path)


def _show(job: Job, judged: dict[str, Any], values: dict[str, Any], fitted_on: int | None) -> None:
    from rich.console import Console

    from mixcal.commands.terminal import numbers_table

    console = Console()
    console.print(numbers_table(job.apply.split, judged, "predictions"))
    shown = [f"{name} {value}" for name, value in values.items()]
    shown += [f"fitted on {fitted_on:,} samples"] if fitted_on is not None else []
    line = ": ".join(filter(None, [next(reversed(judged)), ", ".join(shown)]))
    console.print(line, highlight=False, soft_wrap=True)
    for path in (job.fitted, job.out):
        if path is not None:
            console.print(f"written: {path}", highlight=False, soft_wrap=True)


def knobs(settings: list[str]) -> dict[str, Any]:
    """`--set` values by knob."""
    found: dict[str, Any] = {}
    for setting in settings:
        found |= parsed_setting(setting)
    return found


def plain_values(fitted: Any) -> dict[str, Any]:
    """What of a fitted value is a number, a word or a switch."""
    values = {field.name: getattr(fitted, field.name) for field in dataclasses.fields(fitted)}
    return {
        name: round(value, 6) if isinstance(value, float) else value
        for name, value in values.items()
        if isinstance(value, bool | int | float | str)
    }
