"""`mixcal export`: a run as one folder that works without the training code."""

import argparse
from pathlib import Path

from mixcal.commands.weights import add_weights


def add_options(parser: argparse.ArgumentParser) -> None:
    """The run, where to, which weights and rescaler."""
    parser.add_argument("run", type=Path, help="a run folder")
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="the bundle (RUN/bundle)")
    add_weights(parser)


def run(options: argparse.Namespace) -> int:
    """Write the bundle and say what is in it."""
    from mixcal.exporting import bundle_of

    bundle = bundle_of(options.run, weights=options.weights, rescaler=options.rescaler)
    into = options.into or options.run / "bundle"
    bundle.save(into)
    numbers = sum(tensor.numel() for tensor in bundle.tensors.values())
    origin = bundle.origin
    print(
        f"{len(bundle.classes)} classes, {numbers:,} numbers ({origin['weights']}, step "
        f"{origin['step']:,}), rescaler: {origin['rescaler']}"
    )
    print(f"bundle: {into}")
    return 0
