"""`mixcal train`: a recipe to a judged run folder."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mixcal.commands.own_data import own_data
from mixcal.commands.places import next_run_folder, recipe_folder
from mixcal.core.errors import BadInput
from mixcal.recipe import Recipe, read_recipe

if TYPE_CHECKING:
    from mixcal.run import Run

DEFAULT = "digits"
OWN = "own-images"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Recipe, overrides, where to, and what not to do."""
    parser.add_argument(
        "recipe",
        nargs="?",
        help=f"a recipe's path or name (default: {DEFAULT}; with --data: {OWN})",
    )
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override one key, for example --set method.seed=1; may be repeated",
    )
    parser.add_argument("--data", metavar="PATH", help="your data: a folder, manifest or .npz")
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="the run folder to make")
    parser.add_argument(
        "--members", type=int, metavar="M", help="train so many seeds, and predict by all of them"
    )
    parser.add_argument("--resume", type=Path, metavar="RUN", help="go on with a stopped run")
    parser.add_argument("--dry-run", action="store_true", help="show what would run, then stop")
    parser.add_argument(
        "--no-validation", action="store_true", help="select nothing: last checkpoint, no rescaler"
    )
    parser.add_argument(
        "--watch-test", action="store_true", help="log test numbers while training; marks the run"
    )
    parser.add_argument("--strict", action="store_true", help="an unreadable picture is an error")


def run(options: argparse.Namespace) -> int:
    """Train, predict, judge, print the table."""
    from mixcal.commands.terminal import print_plan
    from mixcal.commands.train_members import Members, asked_for, train_members

    members = asked_for(options)
    if options.resume is not None:
        _check_alone(options)
        return train_members(Members.opened(options.resume)) if members else _resumed(options)
    recipe = _recipe(options)
    if options.dry_run:
        from mixcal.build import check_names, make_network, make_objective, prepare

        check_names(recipe.method)
        # A folder for memories that none is made for before training.
        plan = prepare(recipe, scratch=options.into or Path())
        make_objective(recipe.method, plan.facts)
        print_plan(recipe, plan, make_network(recipe.method, plan))
        return 0
    from mixcal.run import start

    name = Path(options.recipe or (OWN if options.data else DEFAULT)).stem
    into = options.into or next_run_folder(name, recipe.method.seed)
    if members:
        return train_members(Members.begun(into, recipe, options.members))
    trained(into, partial(start, recipe, into))
    return 0


def _resumed(options: argparse.Namespace) -> int:
    """Go on with a run; one that is finished is left as it is."""
    from mixcal.reporting import write_report
    from mixcal.run import reopen
    from mixcal.training.folder import RunFolder

    folder = RunFolder.open(options.resume)
    if not folder.finished():
        trained(folder.path, partial(reopen, folder.path))
        return 0
    print(f"{folder.path} is finished; `mixcal judge {folder.path}` tells its numbers.")
    if folder.read_json(folder.judgement)["judged"] and not folder.report.is_file():
        print(f"report: {write_report(folder.path)}")
    return 0


def trained(folder: Path, begin: Callable[[], "Run"]) -> None:
    """Begin or reopen a run in a folder, train to the end, judge, report."""
    from mixcal.commands.terminal import Bar, print_table
    from mixcal.conclusion import conclude
    from mixcal.core.full_disk import telling_when_full
    from mixcal.reporting import write_report
    from mixcal.run import train_to_end
    from mixcal.training.interruption import resumable

    with resumable(folder / "recipe.toml"), telling_when_full(folder):
        run = begin()
        calibrator = run.machine.objective.calibrator
        for remark in (*run.prepared.source.remarks, *calibrator.remarks):
            print(f"mixcal: {remark}", file=sys.stderr)
        with Bar(run.machine.rhythm.steps) as progress:
            seconds = train_to_end(run, progress=progress)
        judgement = conclude(run.recipe, run.prepared, run.machine, run.folder)
        report = write_report(folder, run.prepared) if judgement["judged"] else None
    print_table(judgement, folder, seconds)
    if report is not None:
        print(f"report: {report}")


def _check_alone(options: argparse.Namespace) -> None:
    """Refuse whatever would change a run that has begun."""
    given = {name: value for name, value in vars(options).items() if name != "resume"}
    if any(given.values()):
        raise BadInput("--resume goes on with a run's own recipe; give no other option with it.")


def _recipe(options: argparse.Namespace) -> Recipe:
    """The recipe under the command line's options."""
    settings = list(options.settings)
    if options.data:
        settings = [*own_data(options.data, asked=f"--data {options.data}"), *settings]
    if options.no_validation:
        settings.append('method.data.validation="none"')
    if options.watch_test:
        settings.append("running.watch_test=true")
    if options.strict:
        settings.append("running.strict=true")
    path = Path(options.recipe or (OWN if options.data else DEFAULT))
    recipe = read_recipe(path, settings, search=[recipe_folder()])
    # A run folder must mean the same from wherever it is resumed.
    data = recipe.method.data
    data = replace(
        data,
        path=_absolute(data.path),
        unlabeled_path=_absolute(data.unlabeled_path),
        test_path=_absolute(data.test_path),
    )
    calibrators = tuple(
        replace(c, knobs={**c.knobs, "images": _absolute(str(c.knobs["images"]))})
        if c.name == "csm" and "images" in c.knobs
        else c
        for c in recipe.method.calibrators
    )
    return replace(recipe, method=replace(recipe.method, data=data, calibrators=calibrators))


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().resolve()) if path else ""
