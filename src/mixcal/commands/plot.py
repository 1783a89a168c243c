"""`mixcal plot`: pictures for files, of runs, prediction files and studies."""

import argparse
import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mixcal.core.errors import BadInput

if TYPE_CHECKING:
    from mixcal.commands.plot_kinds import Kind

FORMATS = (".png", ".svg", ".pdf")


def add_options(parser: argparse.ArgumentParser) -> None:
    """What to draw, of what, and into which file."""
    parser.add_argument(
        "paths",
        nargs="*",
        type=Path,
        metavar="RUN_OR_FILE",
        help="run folders, prediction files, or a study's TOML file",
    )
    parser.add_argument("--kind", metavar="NAME", help="what to draw; see --kinds")
    parser.add_argument("--kinds", action="store_true", help="list what can be drawn, then stop")
    parser.add_argument("--into", type=Path, metavar="FILE", help="a .png, .svg or .pdf file")
    parser.add_argument("--overwrite", action="store_true", help="replace the file if it is there")
    parser.add_argument("--title", default="", help="instead of the name of the run or file")
    _add_samples(parser)
    parser.add_argument("--bins", type=int, default=15, metavar="M", help="bins (default: 15)")
    parser.add_argument(
        "--edges",
        choices=("width", "mass", "smooth"),
        default="width",
        help="reliability: bins of equal width or mass, or none (default: width)",
    )
    parser.add_argument(
        "--band",
        choices=("interval", "bootstrap"),
        default="interval",
        help="reliability: what the whiskers are (default: Wilson's interval)",
    )
    parser.add_argument("--level", type=float, default=0.95, help="of intervals (default: 0.95)")
    parser.add_argument(
        "--alpha",
        type=float,
        action="append",
        default=[],
        help="label-entropy: a mixing parameter; may be repeated",
    )
    parser.add_argument("--count", type=int, default=24, help="mistakes, hits: how many")
    parser.add_argument("--panels", type=int, default=6, help="joint-density: how many moments")
    parser.add_argument("--group", type=int, default=100, help="joint-density: samples a point")
    _add_study(parser)


def _add_samples(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--predictions",
        action="append",
        default=[],
        metavar="NAME",
        help="of run folders: which of predictions/ (default: test); may be repeated",
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--logits", dest="scores", action="store_const", const="logits")
    kind.add_argument("--probs", dest="scores", action="store_const", const="probs")
    parser.add_argument(
        "--ood",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="winning-scores: predictions on foreign samples (default: the run's probes)",
    )


def _add_study(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--metric", default="", help="bars, knob: which (default: the ECE)")
    parser.add_argument("--along", default="", metavar="AXIS", help="bars, knob: a study's axis")
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="AXIS=CHOICE",
        help="bars, knob: only these runs of a study; may be repeated",
    )


def run(options: argparse.Namespace) -> int:
    """Draw, write, and say where."""
    from mixcal.commands.plot_kinds import KINDS

    if options.kinds:
        width = max(map(len, KINDS))
        for name, kind in KINDS.items():
            print(f"{name:<{width}}  {kind.shows} (of {kind.of})")
        return 0
    kind = _kind(options, KINDS)
    into = _checked(options)
    from mixcal.judging.plots.canvas import save_figure
    from mixcal.training.disk import write_atomically

    figure = kind.draw(options)
    # The format follows from the name, also under a temporary one.
    write_atomically(into, lambda path: save_figure(figure, path, into.suffix))
    print(into)
    return 0


def _kind(options: argparse.Namespace, kinds: "Mapping[str, Kind]") -> "Kind":
    if options.kind is None:
        raise BadInput(f"Say what to draw with --kind: {', '.join(kinds)}.")
    if options.kind not in kinds:
        close = difflib.get_close_matches(options.kind, kinds, n=1)
        there = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(kinds)}."
        raise BadInput(f"There is no picture {options.kind!r}; {there}")
    return kinds[options.kind]


def _checked(options: argparse.Namespace) -> Path:
    """Where the picture goes, before anything is computed."""
    into: Path | None = options.into
    if into is None:
        raise BadInput("Say where the picture goes with --into FILE.png (or .svg, .pdf).")
    if into.suffix.lower() not in FORMATS:
        raise BadInput(f"{into} ends in none of {', '.join(FORMATS)}; name one of them.")
    if into.exists() and not options.overwrite:
        raise BadInput(f"{into} exists already; choose another file, or say --overwrite.")
    if not into.absolute().parent.is_dir():
        raise BadInput(f"{into.parent} is no folder; make it, or choose another --into.")
    return into
