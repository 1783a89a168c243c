"""`mixcal synthesize train`: a diffusion model of one's own, or published weights made ours."""

import argparse
import json
import shlex
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mixcal.commands.own_data import own_data
from mixcal.commands.places import recipe_folder
from mixcal.commands.shards import use_threads
from mixcal.core.errors import BadInput
from mixcal.synthesis.options import GeneratorRecipe, read_generator_recipe

if TYPE_CHECKING:
    from mixcal.synthesis.model import GeneratorFolder
    from mixcal.synthesis.training import GeneratorMachine

DEFAULT = "generators/fashion-mnist"
OWN = "generators/own-images"
SHARE = 0.3


def add_options(parser: argparse.ArgumentParser) -> None:
    """Recipe, overrides, where to."""
    parser.add_argument(
        "recipe",
        nargs="?",
        help=f"a generator recipe's path or name (default: {DEFAULT}; with --data: {OWN})",
    )
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override one key, for example --set method.images=100_000; may be repeated",
    )
    parser.add_argument("--data", metavar="PATH", help="your images: a folder, manifest or .npz")
    parser.add_argument(
        "--from",
        dest="start",
        type=Path,
        metavar="FOLDER",
        help="begin with a generator's weights and network (`mixcal synthesize convert`)",
    )
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="the generator folder to make")
    parser.add_argument("--resume", type=Path, metavar="FOLDER", help="go on with a stopped one")


def run(options: argparse.Namespace) -> int:
    """Train, or go on training, with a bar."""
    from mixcal.synthesis.model import GeneratorFolder
    from mixcal.training.interruption import Interrupted

    if options.resume is not None:
        if options.recipe or options.settings or options.into or options.data or options.start:
            raise BadInput("--resume goes on with a generator's own recipe; give nothing with it.")
        folder = GeneratorFolder.open(options.resume)
        if folder.described().converted_from:
            raise BadInput(
                f"{folder.path} holds converted weights, which have no training to go on with; "
                f"begin one with `mixcal synthesize train --from {folder.path}`."
            )
        recipe = read_generator_recipe(folder.recipe)
        machine = _machine(recipe, folder, resumed=True)
    else:
        recipe = _recipe(options)
        name = Path(options.recipe or (OWN if options.data else DEFAULT)).stem
        folder = GeneratorFolder(options.into or _free(Path("generators"), name))
        machine = _machine(recipe, folder, resumed=False)
    try:
        _trained(recipe, machine, folder)
    except Interrupted as stopped:
        print(f"mixcal: {stopped}", file=sys.stderr)
        return 130
    place, into = (shlex.quote(f"{folder.path}{end}") for end in ("", "-images"))
    print(f"generator: {folder.path}")
    print(f"next: mixcal synthesize generate {place} --sets {_sets(machine)} --into {into}")
    return 0


def _sets(machine: "GeneratorMachine") -> int:
    """Mixed images for a proposal: 30 % of the labeled ones, and some of every class."""
    from mixcal.data.mixed_store import MEMBERS

    return max(machine.classes - 1, round(SHARE * len(machine.members) / MEMBERS), 1)


def _trained(
    recipe: GeneratorRecipe, machine: "GeneratorMachine", folder: "GeneratorFolder"
) -> None:
    from mixcal.commands.terminal import Bar
    from mixcal.synthesis.training import train_generator
    from mixcal.training.interruption import listening

    began, used = time.perf_counter(), time.process_time()
    with listening() as stop, Bar(recipe.steps) as bar:
        try:
            train_generator(recipe, machine, folder, show=bar.show, stop=stop)
        finally:
            spent = {
                "seconds": round(time.perf_counter() - began, 3),
                "cpu_seconds": round(time.process_time() - used, 3),
            }
            with open(folder.timing, "a") as file:
                file.write(json.dumps(spent) + "\n")


def _recipe(options: argparse.Namespace) -> GeneratorRecipe:
    settings = list(options.settings)
    if options.data:
        settings = [*own_data(options.data, asked=f"--data {options.data}"), *settings]
    if options.start:
        settings = [*_started(options.start), *settings]
    path = Path(options.recipe or (OWN if options.data else DEFAULT))
    recipe = read_generator_recipe(path, tuple(settings), search=(recipe_folder(),))
    data = recipe.method.data
    if data.path:
        data = replace(data, path=str(Path(data.path).expanduser().resolve()))
    return replace(recipe, method=replace(recipe.method, data=data))


def _started(path: Path) -> list[str]:
    """Settings: this folder's weights, and the network that they are for."""
    from mixcal.synthesis.model import GeneratorFolder

    folder = GeneratorFolder.open(path)
    network = asdict(folder.described().network)
    # JSON's texts, numbers, lists and truths are TOML's too.
    knobs = ", ".join(f"{key} = {json.dumps(value)}" for key, value in network.items())
    return [
        f"method.start_from={json.dumps(str(folder.path.resolve()))}",
        f"method.network={{ {knobs} }}",
    ]


def _machine(
    recipe: GeneratorRecipe, folder: "GeneratorFolder", *, resumed: bool
) -> "GeneratorMachine":
    """The moving parts; a new folder is made once all that can be wrong has been found out."""
    import torch

    from mixcal.commands.training_images import training_images
    from mixcal.core.seeds import derive
    from mixcal.data.splits import Splits
    from mixcal.predicting.device import pick_device
    from mixcal.synthesis.model import Description, GeneratorFolder, make_network, put_weights
    from mixcal.synthesis.training import assemble
    from mixcal.training.disk import write_json

    method = recipe.method
    use_threads(recipe.running.threads)
    images = training_images(method.data, method.seed, recipe.running)
    classes = images.source.classes
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(method.seed, "weights"))
        network = make_network(method.network, classes=len(classes), shape=images.shape)
    license_ = ""
    # Checkpoints hold everything; the folder of the start may be gone by then.
    if method.start_from and not any(folder.checkpoints.glob("step-*")):
        start = Path(method.start_from)
        put_weights(start, network)
        license_ = GeneratorFolder.open(start).described().license
    machine = assemble(
        recipe,
        network,
        images.source.train,
        images.members,
        classes=len(classes),
        device=pick_device(recipe.running.device),
    )
    if not resumed:
        description = Description(
            classes=classes,
            shape=images.shape,
            network=method.network,
            precision=method.precision,
            guidable=method.label_dropout > 0,
            splits=images.splits.fingerprint,
            data=asdict(method.data),
            seed=method.seed,
            license=license_,
        )
        GeneratorFolder.create(folder.path, description, recipe=recipe.to_toml())
        write_json(folder.splits, images.splits.record())
    elif Splits.load(folder.splits).fingerprint != images.splits.fingerprint:
        raise BadInput(
            f"{folder.path}: the data no longer split as they did when the training began; "
            "restore the data, or train a new generator."
        )
    return machine


def _free(folder: Path, name: str) -> Path:
    """The first free folder NAME, NAME-2 …"""
    path, number = folder / name, 1
    while path.exists():
        number += 1
        path = folder / f"{name}-{number}"
    return path
