"""`mixcal compare`: runs or groups of runs beside each other, with their differences."""

import argparse
import glob
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixcal.commands.score_kinds import add_kind
from mixcal.core.errors import BadInput

if TYPE_CHECKING:
    from mixcal.judging.comparison.contenders import Choice, Contender
    from mixcal.judging.comparison.scoreboard import Scoreboard


def add_options(parser: argparse.ArgumentParser) -> None:
    """What to compare, by which numbers, in which groups, written how."""
    parser.add_argument(
        "runs",
        type=Path,
        nargs="+",
        metavar="RUN",
        help="run folders and prediction files (.npz, .csv, .parquet), in any mix",
    )
    parser.add_argument(
        "--against",
        metavar="RUN",
        help="what differences are taken to, a run or a group (default: the first)",
    )
    parser.add_argument(
        "--metrics",
        default="error,ece,nll,brier",
        metavar="A,B",
        help="any of `mixcal judge`'s (default: error,ece,nll,brier)",
    )
    _add_choice(parser)
    groups = parser.add_argument_group("groups of runs")
    groups.add_argument(
        "--group-by",
        metavar="KEYS",
        help="mean ± s.d. over runs that say the same under these keys of their recipes, as in "
        "method.algorithm.name,method.calibrators",
    )
    groups.add_argument(
        "--best-by",
        metavar="METRIC",
        help="of every group the recipe that is best on validation data, never on test data",
    )
    groups.add_argument(
        "--mean-over",
        default="method.seed",
        metavar="KEYS",
        help="keys in which runs of one recipe may differ; runs are paired by them "
        "(default: method.seed)",
    )
    parser.add_argument(
        "--report", type=Path, metavar="FILE.html", help="a page of the comparison, offline"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace the page if it is there")
    written = parser.add_mutually_exclusive_group()
    for name in ("markdown", "latex", "csv", "json"):
        written.add_argument(f"--{name}", dest="form", action="store_const", const=name)


def _add_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--split", default="test", help="the split of the runs' predictions (default: test)"
    )
    parser.add_argument(
        "--weights",
        choices=("averaged", "raw", "best"),
        help="which weights of the runs (default: averaged where the run averaged)",
    )
    parser.add_argument(
        "--rescaler", default="", metavar="NAME", help="the runs' predictions after this rescaler"
    )
    add_kind(parser)
    parser.add_argument("--bins", type=int, default=15, metavar="M", help="(default: 15)")
    parser.add_argument(
        "--level", type=float, default=0.95, help="of the intervals (default: 0.95)"
    )
    parser.add_argument(
        "--replicates", type=int, default=1000, metavar="N", help="of the bootstrap (default: 1000)"
    )


def run(options: argparse.Namespace) -> int:
    """Compare and print."""
    board, more = compare(options)
    if options.form == "json":
        from mixcal.judging.report.figures import finite

        print(json.dumps(finite({**board.record(), **more}), allow_nan=False))
    elif options.form is None:
        from mixcal.commands.comparison_table import print_scoreboard

        print_scoreboard(board)
    else:
        from mixcal.judging.comparison import written

        forms = {
            "markdown": written.markdown,
            "latex": written.latex,
            "csv": written.comma_separated,
        }
        print(forms[options.form](board), end="")
    return 0


def compare(options: argparse.Namespace) -> tuple["Scoreboard", dict[str, Any]]:
    """The scoreboard, and what JSON says beside it."""
    from mixcal.judging.comparison.contenders import Choice, read_contenders
    from mixcal.judging.comparison.runs import baseline_of, compared_runs
    from mixcal.judging.comparison.scoreboard import check_level, check_metrics
    from mixcal.training.disk import check_place

    metrics = check_metrics(_listed(options.metrics))
    if options.replicates < 100:
        raise BadInput(f"--replicates {options.replicates}: give at least 100.")
    if options.report is not None and options.report.exists() and not options.overwrite:
        raise BadInput(f"{options.report} exists already; choose another file, or say --overwrite.")
    if options.report is not None:
        check_place(options.report)
    if options.best_by is not None:
        check_metrics([options.best_by], option="--best-by")
        if options.group_by is None:
            raise BadInput("--best-by chooses within groups; say which with --group-by.")
    choice = Choice(
        split=options.split,
        weights=options.weights,
        rescaler=options.rescaler,
        kind=options.kind,
        bins=options.bins,
        level=check_level(options.level),
    )
    contenders = read_contenders(expanded(options.runs), choice)
    first = contenders[0].judged
    more = {
        "split": first.split,
        "classes": first.summary["classes"],
        "bins": choice.bins,
        "level": choice.level,
    }
    against, groups = options.against, None
    if options.group_by is not None:
        groups = _groups(options, contenders, choice, metrics)
        if options.report is None:
            return groups, more
        # A group stands first by its first run.
        against = next(line.members[0] for line in groups.lines if line.baseline)
    baseline = baseline_of(contenders, against)
    board = compared_runs(contenders, baseline, metrics, replicates=options.replicates)
    if options.report is not None:
        from mixcal.reporting import write_comparison

        write_comparison(contenders, baseline, board, groups, into=options.report)
        print(f"page: {options.report}", file=sys.stderr)
    return groups or board, more


def expanded(paths: Sequence[Path]) -> list[Path]:
    """Patterns such as runs/* as what they match, where no shell has done it."""
    found: list[Path] = []
    for path in paths:
        matches = sorted(glob.glob(str(path))) if not path.exists() else []
        found += map(Path, matches) if matches else [path]
    return found


def _groups(
    options: argparse.Namespace,
    contenders: Sequence["Contender"],
    choice: "Choice",
    metrics: tuple[str, ...],
) -> "Scoreboard":
    from mixcal.judging.comparison.contenders import validation_value
    from mixcal.judging.comparison.groups import baseline_group, best_of, compared_groups, grouped
    from mixcal.judging.comparison.recipe_keys import check_key

    keys, mean_over = _listed(options.group_by), _listed(options.mean_over)
    if not keys:
        raise BadInput("--group-by is empty; name a key, such as method.algorithm.name.")
    groups = grouped(contenders, keys)
    for key in mean_over:
        check_key([one.recipe for one in contenders], key, option="--mean-over")
    metric = options.best_by
    if metric is not None:
        groups = [
            best_of(
                group,
                metric,
                lambda one: validation_value(one, metric, choice),
                mean_over=mean_over,
            )
            for group in groups
        ]
    baseline = baseline_group(groups, options.against)
    return compared_groups(groups, baseline, metrics, heads=keys, mean_over=mean_over)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
