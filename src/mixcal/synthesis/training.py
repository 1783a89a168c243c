"""Training a generator (Karras et al., NeurIPS 2022; arXiv:2206.00364v2, Equation 8, Table 7).

    L = weight(σ) ‖D(y + n; σ, q) − y‖²,   ln σ ~ N(−1.2, 1.2²),   n ~ N(0, σ² I)

summed over pixels, averaged over the batch; images in [−1, 1]. Adam, a linear warm-up, gradients
that are not finite replaced. As in the paper but for the amounts, which a recipe names.
Augmentation is for networks that can be told of it. Every random number follows from (seed, step).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mixcal.core.seeds import derive
from mixcal.data.loading import one_hot
from mixcal.data.pool import Pool
from mixcal.data.sampling import IndexStream
from mixcal.synthesis.augmentation import augmented
from mixcal.synthesis.denoiser import Denoiser
from mixcal.synthesis.model import GeneratorFolder, save_weights
from mixcal.synthesis.noise import loss_weight, training_levels
from mixcal.synthesis.options import GeneratorMethod, GeneratorRecipe
from mixcal.training.averaging import Average
from mixcal.training.checkpoints import (
    Checkpoint,
    gather_optimizer,
    newest_checkpoint,
    save_checkpoint,
    scatter_optimizer,
    under,
)
from mixcal.training.interruption import Interrupted, StopRequest
from mixcal.training.log import Log, Means
from mixcal.training.watch import FiniteWatch

# Steps between asking a pool for images and taking them.
AHEAD = 2
RESUME = "mixcal synthesize train --resume"

Show = Callable[[int, dict[str, float | None], float], None]
"""Step, means since the last look, images a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorMachine:
    """The moving parts."""

    denoiser: Denoiser
    average: Average
    optimizer: torch.optim.Optimizer
    pool: Pool
    members: Int[np.ndarray, " n"]
    classes: int
    device: torch.device


def assemble(
    recipe: GeneratorRecipe,
    network: nn.Module,
    pool: Pool,
    members: Int[np.ndarray, " n"],
    *,
    classes: int,
    device: torch.device,
) -> GeneratorMachine:
    """Network, average and optimizer on the device."""
    network.to(device=device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    method = recipe.method
    autocast = torch.bfloat16 if method.precision == "bf16" else None
    return GeneratorMachine(
        denoiser=Denoiser(network, autocast=autocast),
        average=Average(network, 0.0),
        optimizer=torch.optim.Adam(network.parameters(), lr=method.learning_rate),
        pool=pool,
        members=members,
        classes=classes,
        device=device,
    )


def train_generator(
    recipe: GeneratorRecipe,
    machine: GeneratorMachine,
    folder: GeneratorFolder,
    *,
    show: Show,
    stop: StopRequest,
) -> None:
    """Train from the newest checkpoint, or from nothing, to the last step."""
    method, running = recipe.method, recipe.running
    network = machine.denoiser.network
    stream = IndexStream(len(machine.members), method.batch, method.seed, "generator")
    means, watch = Means(), FiniteWatch()
    first, kept = _restored(machine, folder, means)
    log = Log(folder.log, keep=kept)
    network.train()
    began, shown = time.perf_counter(), first
    try:
        for step in range(first, recipe.steps):
            # Dropout takes no generator of its own.
            torch.manual_seed(derive(method.seed, "dropout", step))
            seen = (step + 1) * method.batch
            rate = method.learning_rate * min(1.0, seen / max(method.warmup_images, 1))
            for group in machine.optimizer.param_groups:
                group["lr"] = rate
            images, targets = _batch(machine, stream, step)
            losses = denoising_losses(machine.denoiser, images, targets, method, step)
            losses.sum(dtype=torch.float32).div(method.batch).backward()
            for parameter in network.parameters():
                if parameter.grad is not None:
                    torch.nan_to_num_(parameter.grad, nan=0.0, posinf=1e5, neginf=-1e5)
            machine.optimizer.step()
            machine.optimizer.zero_grad(set_to_none=True)
            machine.average.decay = averaging_decay(method, seen)
            machine.average.update()

            mean = losses.detach().mean()
            watch.look({"denoising": mean}, step)
            means.add({"loss_denoising": mean})
            done = step + 1
            if done % running.log_every == 0 or done == recipe.steps:
                watch.check()
                taken = means.take()
                log.write({"step": done, "images": seen, "learning_rate": rate, **taken})
                speed = (done - shown) * method.batch / (time.perf_counter() - began)
                show(done, taken, speed)
                began, shown = time.perf_counter(), done
            if _due(done, running.checkpoint_every, recipe.steps) or stop.requested:
                watch.check()
                _save(machine, folder, log, means, done, seen)
            if stop.requested and done < recipe.steps:
                raise Interrupted(folder.path, RESUME)
    finally:
        log.close()


def _due(step: int, every: int, steps: int) -> bool:
    return step == steps or (every > 0 and step % every == 0)


def denoising_losses(
    denoiser: Denoiser,
    images: Float[Tensor, "n c h w"],
    targets: Float[Tensor, "n k"],
    method: GeneratorMethod,
    step: int,
) -> Float[Tensor, "n c h w"]:
    """The weighted squared error of every pixel, at random noise levels."""
    # On the CPU, then moved: the same numbers on every device.
    generator = torch.Generator().manual_seed(derive(method.seed, "denoising", step))
    count = len(images)
    levels = training_levels(
        torch.randn(count, generator=generator), mean=method.level_mean, std=method.level_std
    ).to(images.device)
    kept = torch.rand(count, generator=generator) >= method.label_dropout
    noise = torch.randn(images.shape, generator=generator).to(images.device)
    told = None
    if method.augmentation:
        chance = torch.Generator().manual_seed(derive(method.seed, "augmentation", step))
        images, told = augmented(images, method.augmentation, chance)
    noisy = images + noise * levels.view(-1, 1, 1, 1)
    clean = denoiser(noisy, levels, targets * kept[:, None].to(images.device), told)
    weight = loss_weight(levels, data_std=denoiser.data_std).view(-1, 1, 1, 1)
    return weight * (clean - images).square()


def averaging_decay(method: GeneratorMethod, seen: int) -> float:
    """β = ½^(batch / half-life), the half-life at most `half_life_ramp` of the images seen."""
    half_life = float(method.half_life_images)
    if method.half_life_ramp > 0:
        half_life = min(half_life, method.half_life_ramp * seen)
    return float(0.5 ** (method.batch / max(half_life, 1e-8)))


def _batch(machine: GeneratorMachine, stream: IndexStream, step: int) -> tuple[Tensor, Tensor]:
    """Images in [−1, 1] and their one-hot labels."""
    index = machine.members[stream.at(step)]
    raw = machine.pool.take(index).to(machine.device, non_blocking=True)
    machine.pool.prefetch(machine.members[stream.at(step + AHEAD)])
    targets = one_hot(machine.pool.labels[index], machine.classes)
    return raw.float() / 127.5 - 1, targets.to(machine.device, non_blocking=True)


def _save(
    machine: GeneratorMachine,
    folder: GeneratorFolder,
    log: Log,
    means: Means,
    step: int,
    seen: int,
) -> None:
    """A checkpoint, and the averaged weights as they are now."""
    log.sync()
    network = machine.denoiser.network
    averaged = machine.average.parameters()
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    tensors |= {f"average.{name}": value for name, value in averaged.items()}
    tensors |= gather_optimizer(machine.optimizer)
    record: dict[str, Any] = {"step": step, "log_bytes": log.size, "means": means.state()}
    save_checkpoint(folder.checkpoints, Checkpoint(tensors, record))
    whole = machine.average.current(network).state_dict()
    save_weights(folder.weights, dict(whole), images_seen=seen)


def _restored(machine: GeneratorMachine, folder: GeneratorFolder, means: Means) -> tuple[int, int]:
    """The steps done and the bytes of the log that count."""
    checkpoint = newest_checkpoint(folder.checkpoints)
    if checkpoint is None:
        return 0, 0
    machine.denoiser.network.load_state_dict(under(checkpoint.tensors, "network"))
    saved = under(checkpoint.tensors, "average")
    with torch.no_grad():
        for name, parameter in machine.average.parameters().items():
            parameter.copy_(saved[name])
    scatter_optimizer(checkpoint.tensors, machine.optimizer)
    means.restore(checkpoint.record["means"], machine.device)
    return checkpoint.step, int(checkpoint.record["log_bytes"])
