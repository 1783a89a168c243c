"""Bars and knobs of `mixcal plot`: from a study's rows, or bars from judged predictions."""

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mixcal.core.errors import BadInput

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mixcal.judging.plots.study_charts import Measured
    from mixcal.study import Study

Grid = Mapping[str, Mapping[str, "Measured"]]


def draw_bars_of(options: argparse.Namespace) -> "Figure":
    """Bars of a study's choices, or of the predictions given."""
    from mixcal.judging.plots.study_charts import draw_bars

    if not any(path.suffix == ".toml" for path in options.paths):
        return _bars_of_predictions(options)
    study = _study(options)
    along = _axis(options, study, list(study.axes)[-1])
    metric = options.metric or "ece_15"
    return draw_bars(
        _grid(options, study, along, metric),
        metric=_title(metric),
        title=options.title or f"{_stem(options)}: {_title(metric)}",
        note=_note(options, study),
    )


def draw_knob_of(options: argparse.Namespace) -> "Figure":
    """A study's metric along one of its axes."""
    from mixcal.judging.plots.study_charts import draw_knob

    study = _study(options)
    numeric = [axis for axis, choices in study.axes.items() if all(map(_is_number, choices))]
    along = _axis(options, study, (numeric or list(study.axes))[0])
    metric = options.metric or "ece_15"
    return draw_knob(
        _grid(options, study, along, metric),
        knob=along,
        metric=_title(metric),
        title=options.title or f"{_stem(options)}: {_title(metric)}",
        note=_note(options, study),
    )


def _bars_of_predictions(options: argparse.Namespace) -> "Figure":
    from mixcal.commands.plot_kinds import judged_of, predictions_of
    from mixcal.judging.plots.study_charts import Measured, draw_bars
    from mixcal.judging.report.wording import PLAIN, TITLES

    metric = options.metric or "ece"
    judged = {name: judged_of(options, name, p) for name, p in predictions_of(options).items()}
    known = next(iter(judged.values())).summary["metrics"]
    if metric not in known:
        raise BadInput(f"There is no metric {metric!r}; there are {', '.join(known)}.")
    scale = 1.0 if metric in PLAIN else 100.0
    bars = {
        name: Measured.scaled(one.summary["metrics"][metric], scale) for name, one in judged.items()
    }
    title = TITLES[metric] + ("" if metric in PLAIN else " %")
    sizes = sorted({len(one.predictions) for one in judged.values()})
    return draw_bars(
        {"": bars},
        metric=title,
        title=options.title or title,
        note=f"n = {', '.join(f'{n:,}' for n in sizes)}; {100 * options.level:g}\u202f% intervals",
    )


def _study(options: argparse.Namespace) -> "Study":
    from mixcal.study import read_study

    if len(options.paths) != 1 or options.paths[0].suffix != ".toml":
        raise BadInput(f"{options.kind} is drawn of one study; give its TOML file.")
    study = read_study(options.paths[0])
    if not study.axes:
        raise BadInput(f"{options.paths[0]} has no axes; give a study that compares something.")
    return study


def _grid(options: argparse.Namespace, study: "Study", along: str, metric: str) -> Grid:
    """Groups (or lines) of the other axes' choices; in each, the choices along the axis."""
    from mixcal.judging.plots.study_charts import Measured
    from mixcal.study_table import numbers, read_rows

    kept = _where(options, study)
    found: dict[str, dict[str, Measured]] = {}
    for choices, runs in read_rows(study).items():
        chosen = dict(choices)
        if not kept.items() <= chosen.items():
            continue
        rest = [choice for axis, choice in chosen.items() if axis not in (along, *kept)]
        values = numbers(study, runs.values(), metric)
        if values:
            measured = Measured.of_runs(values, level=options.level)
            found.setdefault(", ".join(rest), {})[chosen[along]] = measured
    if not found:
        raise BadInput(
            f"{_stem(options)} has no rows with {metric!r} in {study.rows}; run the study, or "
            "choose another --metric."
        )
    order = list(study.axes[along])
    return {
        name: dict(sorted(line.items(), key=lambda entry: order.index(entry[0])))
        for name, line in found.items()
    }


def _where(options: argparse.Namespace, study: "Study") -> dict[str, str]:
    kept = {}
    for text in options.where:
        axis, equals, choice = text.partition("=")
        if not equals or choice not in study.axes.get(axis, {}):
            known = ", ".join(f"{axis} ({', '.join(c)})" for axis, c in study.axes.items())
            raise BadInput(f"--where {text}: write AXIS=CHOICE; the study has {known}.")
        kept[axis] = choice
    return kept


def _axis(options: argparse.Namespace, study: "Study", default: str) -> str:
    along = options.along or default
    if along not in study.axes:
        raise BadInput(f"--along {along}: the study's axes are {', '.join(study.axes)}.")
    return along


def _title(metric: str) -> str:
    from mixcal.study_table import TITLES

    return TITLES.get(metric, metric)


def _note(options: argparse.Namespace, study: "Study") -> str:
    kept = "".join(f"{text.replace('=', ' ')}; " for text in options.where)
    return (
        f"{kept}means of up to {len(study.seeds)} seeds, {study.table.split} split, "
        f"Student's {100 * options.level:g}\u202f% intervals"
    )


def _stem(options: argparse.Namespace) -> str:
    return str(options.paths[0].stem)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
