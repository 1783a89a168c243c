"""One run, from a recipe to a judged folder."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mixcal.build import (
    Prepared,
    make_network,
    make_objective,
    prepare,
)
from mixcal.build_loader import make_loader
from mixcal.conclusion import predictions_on
from mixcal.core.errors import BadInput
from mixcal.core.full_disk import telling_when_full
from mixcal.core.predictions import Predictions, Split
from mixcal.data.source import Source
from mixcal.data.splits import Splits
from mixcal.judging.rescaling.registry import find_rescaler
from mixcal.predicting.device import pick_device
from mixcal.recipe import Named, Recipe, read_recipe
from mixcal.training.averaging import Average
from mixcal.training.checkpoints import newest_checkpoint, scatter
from mixcal.training.folder import RunFolder
from mixcal.training.interruption import listening
from mixcal.training.log import Log, Means
from mixcal.training.loop import Machine, Progress, Progressed, Rhythm, stores_of, train
from mixcal.training.memory import keep_freed_memory
from mixcal.training.optimizers import make_optimizer
from mixcal.training.trackers import make_tracker


@dataclass(frozen=True, slots=True)
class Run:
    """A run whose parts stand ready."""

    recipe: Recipe
    prepared: Prepared
    machine: Machine
    folder: RunFolder


def start(recipe: Recipe, into: Path, *, source: Source | None = None) -> Run:
    """A new run in a new folder; everything that can be wrong is found before the folder is."""
    if recipe.running.rescaler != "none":
        find_rescaler(recipe.running.rescaler)
    prepared = prepare(recipe, source, scratch=into)
    machine = assemble(recipe, prepared)
    folder = RunFolder.create(into, recipe=recipe.to_toml())
    equip(folder, recipe, prepared)
    return Run(recipe, prepared, machine, folder)


def reopen(path: Path, *, source: Source | None = None) -> Run:
    """A run that was stopped, with the splits it had."""
    folder = RunFolder.open(path)
    recipe = read_recipe(folder.recipe)
    prepared = prepare(recipe, source, scratch=folder.path)
    if not folder.has_checkpoint():
        # It may have been stopped while its folder was made.
        equip(folder, recipe, prepared)
    check_splits(folder, prepared)
    return Run(recipe, prepared, assemble(recipe, prepared), folder)


def equip(folder: RunFolder, recipe: Recipe, prepared: Prepared) -> None:
    """Write what the folder has not got yet."""
    folder.equip(splits=prepared.splits.record(), network=network_record(recipe, prepared))


def prepared_again(folder: RunFolder, recipe: Recipe) -> Prepared:
    """The data of a run that has begun."""
    prepared = prepare(recipe, scratch=folder.path)
    check_splits(folder, prepared)
    return prepared


def check_splits(folder: RunFolder, prepared: Prepared) -> None:
    """It is an error if the data split otherwise than when the run began."""
    if prepared.splits.fingerprint != Splits.load(folder.splits).fingerprint:
        raise BadInput(
            f"{folder.path}: the data no longer split as they did when the run began; "
            "restore the data, or start a new run."
        )


def assemble(recipe: Recipe, prepared: Prepared) -> Machine:
    """Network, objective, optimizer and loader on the recipe's device."""
    method, running = recipe.method, recipe.running
    if running.threads:
        torch.set_num_threads(running.threads)
    device = pick_device(running.device)
    if device.type == "cpu":
        keep_freed_memory()
    network = make_network(method, prepared).to(device)
    if running.channels_last and prepared.source.kind == "image":
        network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stub lacks it
    average = Average(network, method.averaging_decay) if method.averaging_decay else None
    objective = make_objective(
        method, prepared.facts, averaged=average.network if average is not None else None
    )
    objective.to(device)
    head: nn.Module = network.head  # type: ignore[assignment]  # every backbone has one
    optimizer = make_optimizer(method.optimizer, network, head)
    if running.compile:
        network.compile()
    calibrator = objective.calibrator
    watched = watched_splits(recipe, prepared)
    if calibrator.reviews and "validation" not in watched:
        raise BadInput(
            "A calibrator looks at validation predictions after each epoch, but none are held out; "
            'set method.data.validation to "labels" or "pool".'
        )
    loader = make_loader(method, prepared, device, calibrator.streams, calibrator.supplies)
    rhythm = Rhythm(
        steps=prepared.steps,
        epoch_steps=prepared.epoch_steps,
        log_every=running.log_every,
        evaluate_every=running.evaluate_every,
        checkpoint_every=running.checkpoint_every,
        log_bins=running.log_bins,
    )
    return Machine(
        network=network,
        objective=objective,
        optimizer=optimizer,
        average=average,
        loader=loader,
        watched=watched,
        optimizer_options=method.optimizer,
        schedule=method.schedule,
        rhythm=rhythm,
        seed=method.seed,
        head=head,
    )


def watched_splits(
    recipe: Recipe, prepared: Prepared
) -> dict[str, Callable[[nn.Module], Predictions]]:
    """What evaluations during training look at: validation, and test only if asked to."""
    splits: list[Split] = ["validation"] if len(prepared.splits.validation) else []
    if recipe.running.watch_test and len(prepared.splits.test):
        splits.append("test")
    return {name: partial(predictions_on, prepared, split=name) for name in splits}


def network_record(recipe: Recipe, prepared: Prepared) -> dict[str, Any]:
    """What it takes to build the network and prepare its inputs, without the data."""
    preprocessing = prepared.preprocessing
    backbone = without_weights(recipe.method.backbone)
    return {
        "backbone": {"name": backbone.name, **backbone.knobs},
        "classes": list(prepared.source.classes),
        "preprocessing": preprocessing.to_json() if preprocessing else None,
        **({} if preprocessing else {"words": list(prepared.source.words)}),
        "flips": mirrors(recipe, prepared.source),
        "parameters": None,
    }


def without_weights(backbone: Named) -> Named:
    """The weights it started from are of no use once it is trained, and may be gone."""
    gone = ("weights", "vectors")
    knobs = {key: value for key, value in backbone.knobs.items() if key not in gone}
    return Named(name=backbone.name, knobs=knobs)


def mirrors(recipe: Recipe, source: Source) -> bool:
    """Whether a mirrored picture shows the same thing: what the recipe says, or else the data."""
    flip = recipe.method.views.flip
    return source.kind == "image" and (source.flips if flip is None else flip)


def train_to_end(run: Run, *, progress: Progress) -> float:
    """Train from the newest checkpoint, or from nothing, to the last step; seconds spent."""
    machine, folder = run.machine, run.folder
    state = Progressed(step=0, best_error=float("inf"), means=Means())
    kept = 0
    checkpoint = newest_checkpoint(folder.checkpoints)
    if checkpoint is not None:
        scatter(
            checkpoint.tensors,
            machine.network,
            machine.objective,
            machine.optimizer,
            machine.average,
        )
        state.step = checkpoint.step
        state.best_error = float(checkpoint.record["best_error"])
        state.means.restore(checkpoint.record["means"], machine.loader.device)
        kept = int(checkpoint.record["log_bytes"])
    for store in stores_of(machine.objective):
        store.rewind(state.step)
    log = Log(folder.log, keep=kept)
    running = run.recipe.running
    tracker = make_tracker(folder.path, tensorboard=running.tensorboard, wandb=running.wandb)
    began, used = time.perf_counter(), time.process_time()
    try:
        with torch.random.fork_rng(devices=_devices(machine)), listening() as stop:
            train(machine, folder, state, log=log, tracker=tracker, progress=progress, stop=stop)
    finally:
        log.close()
        tracker.close()
    seconds = time.perf_counter() - began
    with telling_when_full(folder.timing), open(folder.timing, "a") as file:
        spent = {
            "until_step": state.step,
            "seconds": round(seconds, 3),
            "cpu_seconds": round(time.process_time() - used, 3),
        }
        file.write(json.dumps(spent) + "\n")
    return seconds


def _devices(machine: Machine) -> list[torch.device]:
    device = machine.loader.device
    return [device] if device.type == "cuda" else []
