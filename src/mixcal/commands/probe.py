"""`mixcal probe`: a run's network on inputs it was not trained for."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mixcal.commands.ways import add_ways
from mixcal.commands.weights import add_weights
from mixcal.core.errors import BadInput

if TYPE_CHECKING:
    from mixcal.commands.trained import Trained
    from mixcal.data.preprocessing import Preprocessing

SAMPLES = 1000


def add_options(parser: argparse.ArgumentParser) -> None:
    """The run, and what it is asked about."""
    parser.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="a run folder; several, or the folder of `train --members`: their ensemble",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--noise", action="store_true", help="Gaussian noise, as many as test images")
    what.add_argument(
        "--foreign",
        metavar="NAME",
        help="the test pictures of a data set by name, or of a folder of class folders",
    )
    what.add_argument("--hull", action="store_true", help="test images on the way out of the data")
    parser.add_argument(
        "--leave-out",
        action="append",
        default=[],
        metavar="CLASS",
        help="--foreign: a class that is none of foreign ones; may be repeated",
    )
    parser.add_argument("--clip", action="store_true", help="--noise: no pixel beyond its range")
    parser.add_argument(
        "--direction",
        choices=("unit", "raw"),
        default="unit",
        help="--hull: directions of length one, or as they are drawn (default: unit)",
    )
    parser.add_argument("--directions", type=int, default=3, help="--hull: how many (default: 3)")
    parser.add_argument(
        "--samples",
        type=int,
        metavar="N",
        help="so many (default: as many as test images; --hull: 1,000 of these at most)",
    )
    add_ways(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="not into RUN/probes")
    parser.add_argument("--overwrite", action="store_true", help="replace what is there")
    parser.add_argument("--device", default="auto", help="cpu, cuda, … (default: auto)")
    add_weights(parser)


def run(options: argparse.Namespace) -> int:
    """Ask, write, say where and what to do with it."""
    for name, count in (("samples", options.samples), ("directions", options.directions)):
        if count is not None and count < 1:
            raise BadInput(f"--{name} is {count}; give at least 1.")
    if not options.hull:
        from mixcal.commands.probe_strangers import strangers

        return strangers(options)
    if len(options.runs) > 1 or options.mc_dropout is not None or options.test_time is not None:
        raise BadInput("--hull walks by single passes of one run; name one, and no other way.")
    from mixcal.commands.trained import trained_run

    trained = trained_run(
        options.runs[0], weights=options.weights, rescaler=options.rescaler, device=options.device
    )
    return _walk(options, trained)


def preprocessing_of(trained: "Trained") -> "Preprocessing":
    """How its pictures become inputs; texts do not."""
    found = trained.prepared.preprocessing
    if found is None:
        raise BadInput(
            f"{trained.folder.path} was trained on text; only networks for pictures are probed."
        )
    return found


def _walk(options: argparse.Namespace, trained: "Trained") -> int:
    from mixcal.commands.progress import count_bar
    from mixcal.commands.rescale import write_new
    from mixcal.judging.rescaling.registry import transformed
    from mixcal.predicting.hull import walk
    from mixcal.predicting.strangers import pictures_of

    preprocessing = preprocessing_of(trained)
    prepared, test = trained.prepared, trained.prepared.source.test
    if test is None or not len(prepared.splits.test):
        raise BadInput(f"{options.runs[0]} has no test images to start from.")
    index = prepared.splits.test
    most = min(options.samples or SAMPLES, len(index))
    index = index[np.linspace(0, len(index) - 1, most).round().astype(np.int64)]
    rescaler = trained.rescaler
    finishes = {}
    if rescaler is not None:
        finishes[trained.rescaler_name] = lambda logits, features: transformed(
            rescaler, logits, features=features
        )
    with count_bar("walking") as bar:
        found = walk(
            trained.network,
            lambda: pictures_of(test, index, preprocessing),
            test.labels[index],
            direction=options.direction,
            directions=options.directions,
            seed=options.seed,
            finishes=finishes,
            progress=bar.show,
        )
    text = json.dumps(found.record()) + "\n"
    path = target(options, trained, f"hull-{options.direction}", ".json")
    write_new(path, lambda part: part.write_text(text), overwrite=options.overwrite)
    print(f"written: {path}\ndraw it: mixcal plot {options.runs[0]} --kind hull --into hull.png")
    return 0


def target(options: argparse.Namespace, trained: "Trained", stem: str, ending: str) -> Path:
    """Where the answer goes; a run's own folder for probes is made."""
    out: Path | None = options.out
    if out is not None:
        return out
    if len(options.runs) > 1:
        raise BadInput("Say where the ensemble's answers go: --out FILE.npz.")
    folder: Path = options.runs[0] / "probes"
    folder.mkdir(exist_ok=True)
    end = "" if trained.weights == "averaged" else f"-{trained.weights}"
    return folder / f"{stem}{end}{ending}"
