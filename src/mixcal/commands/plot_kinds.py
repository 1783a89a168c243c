"""What `mixcal plot` can draw: each kind from the command's options to a figure."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mixcal.commands.plot_studies import draw_bars_of, draw_knob_of
from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions
from mixcal.judging.reading import prediction_files, read_foreign, read_predictions, read_shares
from mixcal.judging.report.judged import Judged
from mixcal.judging.report.run_files import read_log, read_record
from mixcal.judging.samples import Samples

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mixcal.judging.plots.exhibits import Which


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A picture: what it shows, what it is made of, and how."""

    shows: str
    of: str
    draw: Callable[[argparse.Namespace], "Figure"]


@dataclass(frozen=True, slots=True)
class Found:
    """Predictions, the file they came from, and the run folder that holds it (None: no run's)."""

    predictions: Predictions
    file: Path
    run: Path | None


def found_in(options: argparse.Namespace) -> dict[str, Found]:
    """What the paths hold, by a name short enough for a title."""
    if not options.paths:
        raise BadInput("Give a run folder or a prediction file to draw.")
    found: dict[str, Found] = {}
    for path in options.paths:
        files = prediction_files(path)
        chosen = options.predictions if path.is_dir() else []
        for name in chosen or list(files)[:1]:
            if name not in files:
                raise BadInput(f"{path} has no predictions {name!r}; it has {', '.join(files)}.")
            title = path.resolve().name if path.is_dir() else path.stem
            title = f"{title}, {name}" if len(chosen) > 1 else title
            title = f"{path}" if title in found else title
            read = read_predictions(files[name], options.scores)
            found[title] = Found(read, files[name], path if path.is_dir() else None)
    if options.title and len(found) == 1:
        found = {options.title: next(iter(found.values()))}
    return found


def predictions_of(options: argparse.Namespace) -> dict[str, Predictions]:
    """The predictions alone."""
    return {title: found.predictions for title, found in found_in(options).items()}


def only(options: argparse.Namespace) -> tuple[str, Predictions]:
    """The one set of predictions, for kinds that draw one."""
    found = predictions_of(options)
    if len(found) > 1:
        raise BadInput(
            f"{options.kind} draws one set of predictions and got {len(found)}; draw one a file."
        )
    return next(iter(found.items()))


def judged_of(options: argparse.Namespace, name: str, predictions: Predictions) -> Judged:
    """With its numbers."""
    return Judged.of(predictions, name=name, bins=options.bins, level=options.level)


def _reliability(options: argparse.Namespace) -> "Figure":
    from mixcal.judging.metrics.equal_mass import equal_mass
    from mixcal.judging.metrics.reliability import Reliability
    from mixcal.judging.plots.reliability import draw_reliability, draw_smooth_reliability

    found = predictions_of(options)
    if options.edges == "smooth":
        if options.band != "interval":
            raise BadInput("--edges smooth has no bins to draw anew; leave --band bootstrap out.")
        return draw_smooth_reliability({n: judged_of(options, n, p) for n, p in found.items()})
    make = equal_mass if options.edges == "mass" else Reliability.of_confidence
    samples = {name: Samples.of(predictions) for name, predictions in found.items()}
    sums = {name: make(s.confidence, s.right, bins=options.bins) for name, s in samples.items()}
    return draw_reliability(sums, band=options.band, level=options.level)


def _confidence(options: argparse.Namespace) -> "Figure":
    from mixcal.judging.plots.confidence import draw_confidence

    name, predictions = only(options)
    samples = Samples.of(predictions)
    return draw_confidence(samples.confidence, samples.right, title=name)


def _winning_scores(options: argparse.Namespace) -> "Figure":
    from mixcal.judging.plots.confidence import draw_winning_scores

    models = {}
    for title, found in found_in(options).items():
        foreign = {file.stem: read_foreign(file, options.scores) for file in options.ood}
        if not foreign and found.run is not None:
            foreign = probes(found.run, found)
        if not foreign:
            raise BadInput(
                f"{found.run or found.file}: there are no foreign samples to compare with; give "
                "--ood FILE, or make some of a run with `mixcal probe RUN --noise`."
            )
        sets = {found.predictions.split: found.predictions} | foreign
        models[title] = {name: Samples.of(one).confidence for name, one in sets.items()}
    return draw_winning_scores(models, level=options.level)


def probes(run: Path, found: Found) -> dict[str, Predictions]:
    """The foreign samples a run was probed with: by the same weights, way and rescaler."""
    said = found.file.stem.split("-")
    weights = next((name for name in ("raw", "best") if name in said), "averaged")
    notes = found.predictions.notes
    wanted = (weights, notes.get("rescaler", ""), notes.get("way", ""))
    made = {}
    for file in sorted((run / "probes").glob("*.npz")):
        one = read_foreign(file)
        said_of = (one.notes.get("weights"), *(one.notes.get(k, "") for k in ("rescaler", "way")))
        if said_of == wanted:
            made[one.source] = one
    return made


def _joint_density(options: argparse.Namespace) -> "Figure":
    from mixcal.judging.plots.joint_density import draw_joint_density, moments

    path = _run(options)
    epoch = read_toml(path / "recipe.toml").get("method", {}).get("epoch_steps", 0)
    return draw_joint_density(
        moments(read_log(path / "log.jsonl"), where=str(path)),
        epoch_steps=int(epoch),
        group=options.group,
        panels=options.panels,
        title=options.title or path.resolve().name,
    )


def _hull(options: argparse.Namespace) -> "Figure":
    from mixcal.judging.hull_walk import HullWalk
    from mixcal.judging.plots.hull import draw_hull

    walks = {}
    for path in options.paths or [_run(options)]:
        files = sorted((path / "probes").glob("hull-*.json")) if path.is_dir() else [path]
        if not files or not files[0].is_file():
            raise BadInput(f"{path} holds no walk; make one with `mixcal probe RUN --hull`.")
        for file in files:
            name = path.resolve().name if path.is_dir() else path.stem
            walk = HullWalk.of(read_record(file), where=str(file))
            walks[f"{name}, {walk.direction}" if len(files) > 1 else name] = walk
    return draw_hull(walks, title=options.title or "Leaving the data")


def _label_entropy(options: argparse.Namespace) -> "Figure":
    from mixcal.judging.plots.label_entropy import draw_label_entropy

    alphas = {f"α = {alpha:g}": alpha for alpha in options.alpha}
    measured = {}
    for path in options.paths:
        if path.is_dir():
            alphas |= mixing_parameters(path)
        else:
            measured[path.stem] = read_shares(path)
    return draw_label_entropy(alphas, measured, title=options.title or "Entropy of the labels")


def mixing_parameters(run: Path) -> dict[str, float]:
    """α of every calibrator of a run that mixes by Beta(α, α)."""
    from mixcal.catalog import find

    method = read_toml(run / "recipe.toml").get("method", {})
    found = {}
    for calibrator in method.get("calibrators", ()):
        alpha = calibrator.get("alpha", find(calibrator["name"], "calibrator").knobs().get("alpha"))
        if isinstance(alpha, int | float):
            found[f"{run.resolve().name}: {calibrator['name']}, α = {alpha:g}"] = float(alpha)
    if not found:
        raise BadInput(f"{run} mixes no labels by a parameter alpha; give --alpha.")
    return found


def _risk_coverage(options: argparse.Namespace) -> "Figure":
    from mixcal.judging.plots.risk_coverage import draw_risk_coverage

    found = {name: Samples.of(p) for name, p in predictions_of(options).items()}
    title = options.title or (next(iter(found)) if len(found) == 1 else "Risk and coverage")
    return draw_risk_coverage(found, title=title, level=options.level)


def _confusion(options: argparse.Namespace) -> "Figure":
    from mixcal.judging.plots.confusion import draw_confusion

    name, predictions = only(options)
    return draw_confusion(judged_of(options, name, predictions), title=name)


def _exhibits(options: argparse.Namespace, which: "Which") -> "Figure":
    from mixcal.judging.plots.exhibits import draw_exhibits
    from mixcal.reporting import looks_of_run

    path = _run(options)
    _, predictions = only(options)
    look = looks_of_run(path).get(predictions.split)
    if look is None:
        raise BadInput(
            f"{path}: the pictures of the {predictions.split} split cannot be found; restore the "
            "data its recipe names, or set MIXCAL_DATA."
        )
    return draw_exhibits(predictions, look, which=which, count=options.count)


def _mistakes(options: argparse.Namespace) -> "Figure":
    return _exhibits(options, "mistakes")


def _hits(options: argparse.Namespace) -> "Figure":
    return _exhibits(options, "hits")


def _run(options: argparse.Namespace) -> Path:
    """The one run folder."""
    if len(options.paths) != 1 or not (options.paths[0] / "recipe.toml").is_file():
        raise BadInput(f"{options.kind} is drawn of one run folder of `mixcal train`; give one.")
    path: Path = options.paths[0]
    return path


def read_toml(path: Path) -> dict[str, dict]:
    """The tables of a recipe; none where there is no file."""
    import tomllib

    return tomllib.loads(path.read_text()) if path.is_file() else {}


PREDICTIONS = "runs or prediction files"
KINDS: Mapping[str, Kind] = {
    "reliability": Kind(
        shows="accuracy against confidence, with counts, gaps and both bands",
        of=PREDICTIONS,
        draw=_reliability,
    ),
    "confidence": Kind(
        shows="histogram of confidence, right and wrong", of="a run or file", draw=_confidence
    ),
    "winning-scores": Kind(
        shows="winning scores of familiar and of foreign samples",
        of=f"{PREDICTIONS}, with --ood or probes",
        draw=_winning_scores,
    ),
    "joint-density": Kind(
        shows="confidence and accuracy over epochs",
        of="a run with running.log_bins",
        draw=_joint_density,
    ),
    "hull": Kind(
        shows="accuracy, confidence and entropy away from the data",
        of="runs probed with --hull",
        draw=_hull,
    ),
    "label-entropy": Kind(
        shows="how uncertain mixed or soft labels are",
        of="--alpha, runs that mix, files of label distributions",
        draw=_label_entropy,
    ),
    "risk-coverage": Kind(
        shows="the error among the samples one keeps", of=PREDICTIONS, draw=_risk_coverage
    ),
    "confusion": Kind(shows="true against predicted classes", of="a run or file", draw=_confusion),
    "mistakes": Kind(shows="most confident mistakes, pictured", of="a run", draw=_mistakes),
    "hits": Kind(shows="least confident hits, pictured", of="a run", draw=_hits),
    "bars": Kind(
        shows="a metric of methods, with intervals",
        of=f"a study, or {PREDICTIONS}",
        draw=draw_bars_of,
    ),
    "knob": Kind(shows="a metric along an axis, with intervals", of="a study", draw=draw_knob_of),
}
