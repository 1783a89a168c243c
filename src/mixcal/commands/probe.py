"""`mixcal probe`: a run's network on inputs it was not trained for."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mixcal.commands.weights import add_weights
from mixcal.core.errors import BadInput

if TYPE_CHECKING:
    from torch import Tensor

    from mixcal.commands.trained import Trained
    from mixcal.data.preprocessing import Preprocessing

SAMPLES = 1000


def add_options(parser: argparse.ArgumentParser) -> None:
    """The run, and what it is asked about."""
    parser.add_argument("run", type=Path, metavar="RUN", help="a run folder")
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
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn (default: 0)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="not into RUN/probes")
    parser.add_argument("--overwrite", action="store_true", help="replace what is there")
    parser.add_argument("--device", default="auto", help="cpu, cuda, … (default: auto)")
    add_weights(parser)


def run(options: argparse.Namespace) -> int:
    """Ask, write, say where and what to do with it."""
    from mixcal.commands.trained import trained_run

    for name, count in (("samples", options.samples), ("directions", options.directions)):
        if count is not None and count < 1:
            raise BadInput(f"--{name} is {count}; give at least 1.")
    trained = trained_run(
        options.run, weights=options.weights, rescaler=options.rescaler, device=options.device
    )
    return _walk(options, trained) if options.hull else _strangers(options, trained)


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
        raise BadInput(f"{options.run} has no test images to start from.")
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
    path = _target(options, trained, f"hull-{options.direction}", ".json")
    write_new(path, lambda part: part.write_text(text), overwrite=options.overwrite)
    print(f"written: {path}\ndraw it: mixcal plot {options.run} --kind hull --into hull.png")
    return 0


def _strangers(options: argparse.Namespace, trained: "Trained") -> int:
    from mixcal.commands.rescale import write_new
    from mixcal.judging.rescaling.registry import transformed
    from mixcal.predicting.strangers import answers, noise

    prepared, preprocessing = trained.prepared, preprocessing_of(trained)
    if options.noise:
        count = options.samples or len(prepared.splits.test)
        if not count:
            raise BadInput(f"{options.run} has no test images; say how many with --samples.")
        name, ids = "noise", np.arange(count)
        inputs: Iterator[Tensor] = noise(preprocessing, count, seed=options.seed, clip=options.clip)
    else:
        name = Path(options.foreign).name
        ids, inputs = foreign_pictures(options, trained)
    logits, features = answers(trained.network, inputs)
    record: dict[str, Any] = {
        "ids": ids,
        "classes": np.array(prepared.source.classes),
        "split": np.array("foreign"),
        "source": np.array(name),
    }
    path = _target(options, trained, name, ".npz")
    notes: dict[str, str] = {"weights": trained.weights}
    files = {path: record | {"logits": logits, "notes": np.array(json.dumps(notes))}}
    if trained.rescaler is not None:
        probs = transformed(trained.rescaler, logits, features=features)
        notes |= {"rescaler": trained.rescaler_name}
        after = path.with_name(f"{path.stem}-{trained.rescaler_name}.npz")
        files[after] = record | {"probs": probs, "notes": np.array(json.dumps(notes))}
    for target, arrays in files.items():
        write_new(target, lambda part, a=arrays: _save(part, a), overwrite=options.overwrite)
        print(f"written: {target}")
    highest = float(np.exp(logits - np.logaddexp.reduce(logits, 1)[:, None]).max(1).mean())
    print(f"{len(logits):,} samples of {name}, mean winning score {100 * highest:.1f} %")
    print(f"judge it: mixcal judge {options.run} --ood {path}")
    return 0


def foreign_pictures(
    options: argparse.Namespace, trained: "Trained"
) -> tuple[np.ndarray, "Iterator[Tensor]"]:
    """The ids and the inputs of another data set's test pictures, evenly chosen if not all."""
    from dataclasses import replace

    from mixcal.build import open_source
    from mixcal.data.options import DataOptions
    from mixcal.predicting.strangers import pictures_of

    own, recipe = trained.prepared, trained.recipe
    folder = Path(options.foreign)
    data = DataOptions(source=options.foreign)
    if folder.is_dir():
        stored = preprocessing_of(trained).stored
        data = DataOptions(source="folder", path=str(folder), image_size=max(stored))
    if options.foreign == own.source.name:
        raise BadInput(f"{options.foreign} is what {options.run} was trained on; name another set.")
    source = open_source(replace(recipe.method, data=data), recipe.running)
    if source.kind != "image" or source.test is None:
        raise BadInput(f"{source.name} has no test pictures; name another data set.")
    for name in options.leave_out:
        if name not in source.classes:
            raise BadInput(
                f"--leave-out {name}: {source.name} has the classes "
                f"{', '.join(source.classes[:12])}{' …' if len(source.classes) > 12 else ''}."
            )
    left_out = [source.classes.index(name) for name in options.leave_out]
    index = np.flatnonzero(~np.isin(source.test.labels, left_out))
    most = min(options.samples or len(own.splits.test) or len(index), len(index))
    if not most:
        raise BadInput(f"Nothing of {source.name} is left; leave fewer classes out.")
    index = index[np.linspace(0, len(index) - 1, most).round().astype(np.int64)]
    return source.test.ids[index], pictures_of(source.test, index, preprocessing_of(trained))


def _save(path: Path, arrays: dict[str, Any]) -> None:
    # No labels: nobody can take these for judged predictions.
    with open(path, "wb") as file:
        np.savez(file, **arrays)


def _target(options: argparse.Namespace, trained: "Trained", stem: str, ending: str) -> Path:
    """Where the answer goes; a run's own folder for probes is made."""
    out: Path | None = options.out
    if out is not None:
        return out
    folder = trained.folder.path / "probes"
    folder.mkdir(exist_ok=True)
    end = "" if trained.weights == "averaged" else f"-{trained.weights}"
    return folder / f"{stem}{end}{ending}"
