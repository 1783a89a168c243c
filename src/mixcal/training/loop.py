"""The training loop: one function, its text in run order."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn

from mixcal.core.clock import Clock
from mixcal.core.predictions import Predictions
from mixcal.core.protocols import Objective, Store
from mixcal.core.seeds import derive
from mixcal.data.loading import Loader
from mixcal.training.averaging import Average
from mixcal.training.checkpoints import (
    Checkpoint,
    gather,
    oldest_step,
    save_checkpoint,
    write_tensors,
)
from mixcal.training.evaluation import binned, evaluated
from mixcal.training.folder import RunFolder
from mixcal.training.interruption import Interrupted, StopRequest
from mixcal.training.log import Log, Means
from mixcal.training.optimizers import cap_norms, set_learning_rate
from mixcal.training.options import OptimizerOptions, ScheduleOptions
from mixcal.training.schedules import learning_rate
from mixcal.training.trackers import Tracker
from mixcal.training.watch import FiniteWatch

Evaluate = Callable[[nn.Module], Predictions]


@runtime_checkable
class Progress(Protocol):
    """Somebody who watches; nothing in the run depends on it."""

    def show(self, step: int, means: dict[str, float | None], images_per_second: float) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """How often things happen, in steps; 0: never. There always is a checkpoint at the end."""

    steps: int
    epoch_steps: int
    log_every: int
    evaluate_every: int
    checkpoint_every: int
    # How many bins of confidence an evaluation logs.
    log_bins: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The moving parts of a run."""

    network: nn.Module
    objective: Objective
    optimizer: torch.optim.Optimizer
    average: Average | None
    loader: Loader
    # Predictions of a network on one split, by the split's name; what evaluations look at.
    watched: dict[str, Evaluate]
    optimizer_options: OptimizerOptions
    schedule: ScheduleOptions
    rhythm: Rhythm
    seed: int
    head: nn.Module | None = None


@dataclass(slots=True)
class Progressed:
    """What of a run's state is not tensors."""

    step: int
    best_error: float
    means: Means


def train(
    machine: Machine,
    folder: RunFolder,
    state: Progressed,
    *,
    log: Log,
    tracker: Tracker,
    progress: Progress,
    stop: StopRequest,
) -> None:
    """Train from `state.step` to the last step."""
    rhythm, network, average = machine.rhythm, machine.network, machine.average
    options = machine.optimizer_options
    watch, began, images = FiniteWatch(), time.perf_counter(), 0
    parameters = [p for p in network.parameters() if p.requires_grad]
    network.train()
    for step in range(state.step, rhythm.steps):
        clock = Clock.at(
            step, seed=machine.seed, steps=rhythm.steps, epoch_steps=rhythm.epoch_steps
        )
        # Dropout takes no generator of its own.
        torch.manual_seed(derive(machine.seed, "dropout", step))
        rate = learning_rate(
            machine.schedule,
            options.learning_rate,
            step,
            steps=rhythm.steps,
            epoch_steps=rhythm.epoch_steps,
        )
        set_learning_rate(machine.optimizer, rate)
        batch = machine.loader.batch(step)
        outcome = machine.objective(network, batch, clock)
        outcome.total().backward()
        if options.clip_norm:
            nn.utils.clip_grad_norm_(parameters, options.clip_norm, foreach=True)
        machine.optimizer.step()
        machine.optimizer.zero_grad(set_to_none=True)
        if options.head_max_norm and machine.head is not None:
            cap_norms((w for w in machine.head.parameters() if w.ndim == 2), options.head_max_norm)
        if average is not None:
            average.update()

        watch.look(outcome.losses, step)
        losses = {f"loss_{name}": loss for name, loss in outcome.losses.items()}
        state.means.add({**losses, **outcome.readings})
        images += len(batch.labeled) + (2 * len(batch.unlabeled.weak) if batch.unlabeled else 0)
        state.step = step + 1
        if state.step % rhythm.epoch_steps == 0 and machine.objective.calibrator.reviews:
            machine.objective.review(machine.watched["validation"](network), clock)
        if _due(state.step, rhythm.log_every, rhythm.steps):
            _check(machine, watch)
            means = state.means.take()
            log.write({"step": state.step, "learning_rate": rate, **means})
            tracker.scalars(state.step, {"learning_rate": rate, **means})
            progress.show(state.step, means, images / (time.perf_counter() - began))
            began, images = time.perf_counter(), 0
        if machine.watched and _due(state.step, rhythm.evaluate_every, rhythm.steps):
            _check(machine, watch)
            watch.check_weights(network, state.step)
            _evaluate(machine, folder, state, log, tracker)
            began, images = time.perf_counter(), 0
        last = state.step == rhythm.steps
        if last or _due(state.step, rhythm.checkpoint_every, rhythm.steps) or stop.requested:
            _check(machine, watch)
            watch.check_weights(network, state.step)
            save(machine, folder, state, log)
        if stop.requested and state.step < rhythm.steps:
            raise Interrupted(folder.path)


def _check(machine: Machine, watch: FiniteWatch) -> None:
    """Stop if a loss was not finite, or if a calibrator sees that the run leads nowhere."""
    watch.check()
    calibrator = machine.objective.calibrator
    for check in (*calibrator.checks, *(ledger.check for ledger in calibrator.ledgers.values())):
        check()


def _due(step: int, every: int, steps: int) -> bool:
    return every > 0 and (step % every == 0 or step == steps)


def _evaluate(
    machine: Machine, folder: RunFolder, state: Progressed, log: Log, tracker: Tracker
) -> None:
    """Judge averaged and raw weights on every watched split; keep the best by validation."""
    networks = {"raw": machine.network}
    if machine.average is not None:
        networks["averaged"] = machine.average.current(machine.network)
    chosen = "averaged" if machine.average is not None else "raw"
    for split, predictions in machine.watched.items():
        for weights, network in networks.items():
            made = predictions(network)
            found = evaluated(made)
            line = {"step": state.step, "split": split, "weights": weights, **found}
            bins = machine.rhythm.log_bins
            log.write(line | ({"bins": binned(made, bins)} if bins > 0 else {}))
            tracker.scalars(state.step, {f"{split}/{weights}/{k}": v for k, v in found.items()})
            better = found["error"] < state.best_error
            if split == "validation" and weights == chosen and better:
                state.best_error = found["error"]
                record = {"step": state.step, "validation_error": found["error"]}
                write_tensors(folder.best, network.state_dict(), record)


def save(machine: Machine, folder: RunFolder, state: Progressed, log: Log) -> Path:
    """A checkpoint of this moment; the log counts as certified up to here."""
    log.sync()
    record: dict[str, Any] = {
        "step": state.step,
        "best_error": state.best_error,
        "log_bytes": log.size,
        "means": state.means.state(),
    }
    tensors = gather(machine.network, machine.objective, machine.optimizer, machine.average)
    stores = stores_of(machine.objective)
    # Before: a checkpoint whose memories cannot go back to it would be of no use.
    for store in stores:
        store.mark(state.step)
    path = save_checkpoint(folder.checkpoints, Checkpoint(tensors, record))
    for store in stores:
        store.forget(oldest_step(folder.checkpoints))
    return path


def stores_of(objective: Objective) -> list[Store]:
    """The memories that go back to a checkpoint by themselves."""
    return [module for module in objective.modules() if isinstance(module, Store)]
