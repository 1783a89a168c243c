"""The loss by hand, the averaging rule, and a stopped training against an uninterrupted one."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from mixcal.core.seeds import derive
from mixcal.data.pool import MemoryPool
from mixcal.synthesis.denoiser import Denoiser
from mixcal.synthesis.model import Description, GeneratorFolder, load_generator, make_network
from mixcal.synthesis.options import (
    GeneratorMethod,
    GeneratorRecipe,
    GeneratorRunning,
    NetworkOptions,
)
from mixcal.synthesis.training import (
    assemble,
    averaging_decay,
    denoising_losses,
    train_generator,
)
from mixcal.training.checkpoints import newest_checkpoint, read_tensors
from mixcal.training.interruption import Interrupted, StopRequest

NETWORK = NetworkOptions(width=8, multipliers=(1, 2), blocks=1, patch=2, dropout=0.1)
RECIPE = GeneratorRecipe(
    method=GeneratorMethod(
        images=60, batch=6, precision="float32", warmup_images=12, network=NETWORK
    ),
    running=GeneratorRunning(log_every=2, checkpoint_every=3),
)


def pool() -> MemoryPool:
    labels = np.arange(20) % 3
    images = np.random.default_rng(0).integers(0, 20, (20, 8, 8), dtype=np.uint8)
    return MemoryPool.of_images(images + 80 * labels[:, None, None].astype(np.uint8), labels)


def folder(path: Path) -> GeneratorFolder:
    description = Description(
        classes=("a", "b", "c"),
        shape=(8, 8, 1),
        network=NETWORK,
        precision="float32",
        guidable=True,
        splits="s",
        data={},
        seed=0,
    )
    return GeneratorFolder.create(path, description, recipe=RECIPE.to_toml())


def trained(path: Path, *, stop_after: int = 0, recipe: GeneratorRecipe = RECIPE) -> None:
    """Train in this folder, from where it stands, and stop after so many steps of this call."""
    with torch.random.fork_rng():
        torch.manual_seed(derive(0, "weights"))
        network = make_network(NETWORK, classes=3, shape=(8, 8, 1))
    machine = assemble(
        recipe, network, pool(), np.arange(2, 20), classes=3, device=torch.device("cpu")
    )
    stop, shown = StopRequest(), []

    def show(step: int, means: dict, speed: float) -> None:
        shown.append(step)
        stop.requested = bool(stop_after) and len(shown) * 2 >= stop_after

    train_generator(recipe, machine, GeneratorFolder.open(path), show=show, stop=stop)


def test_a_stopped_run_ends_with_the_same_bits(tmp_path: Path) -> None:
    whole, cut = folder(tmp_path / "whole"), folder(tmp_path / "cut")
    trained(whole.path)
    with pytest.raises(Interrupted, match="mixcal synthesize train --resume"):
        trained(cut.path, stop_after=4)
    # A kill after the checkpoint leaves log lines that nothing certified.
    with open(cut.log, "a") as log:
        log.write('{"step": 99}\n')
    trained(cut.path)
    ours, theirs = newest_checkpoint(cut.checkpoints), newest_checkpoint(whole.checkpoints)
    assert ours is not None
    assert theirs is not None
    assert ours.step == theirs.step == 10
    assert set(ours.tensors) == set(theirs.tensors)
    assert all(torch.equal(ours.tensors[key], theirs.tensors[key]) for key in ours.tensors)
    assert cut.log.read_bytes() == whole.log.read_bytes()
    weights = [read_tensors(made.weights).tensors for made in (cut, whole)]
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])


def test_a_trained_generator_loads_with_its_averaged_weights(tmp_path: Path) -> None:
    made = folder(tmp_path / "one")
    trained(made.path)
    generator = load_generator(made.path, torch.device("cpu"))
    assert generator.images_seen == 60
    assert generator.description == made.described()
    saved = newest_checkpoint(made.checkpoints)
    assert saved is not None
    for name, value in generator.denoiser.network.state_dict().items():
        assert torch.equal(value, saved.tensors[f"average.{name}"]), name
    assert not generator.denoiser.network.training


def test_the_loss_falls(tmp_path: Path) -> None:
    made = folder(tmp_path / "one")
    longer = replace(RECIPE, method=replace(RECIPE.method, images=900, learning_rate=1e-2))
    trained(made.path, recipe=longer)
    lines = [json.loads(line)["loss_denoising"] for line in made.log.read_text().splitlines()]
    assert np.mean(lines[-10:]) < 0.7 * np.mean(lines[:3])


class Constant(nn.Module):
    def forward(self, inputs: Tensor, noise: Tensor, targets: Tensor) -> Tensor:
        self.targets = targets
        return torch.zeros_like(inputs)


def test_the_loss_by_hand() -> None:
    method = GeneratorMethod(seed=4, label_dropout=0.5)
    network = Constant()
    images = torch.rand(64, 1, 2, 2) * 2 - 1
    found = denoising_losses(Denoiser(network), images, torch.eye(2).repeat(32, 1), method, 7)
    generator = torch.Generator().manual_seed(derive(4, "denoising", 7))
    levels = (torch.randn(64, generator=generator) * 1.2 - 1.2).exp()
    kept = torch.rand(64, generator=generator) >= 0.5
    noise = torch.randn(images.shape, generator=generator)
    for row in range(64):
        level = levels[row]
        noisy = images[row] + level * noise[row]
        clean = 0.25 / (level**2 + 0.25) * noisy
        weight = (level**2 + 0.25) / (level * 0.5) ** 2
        assert torch.allclose(found[row], weight * (clean - images[row]) ** 2, rtol=1e-4)
    assert torch.equal(network.targets.sum(1) == 1, kept)
    assert 10 < int(kept.sum()) < 54


def test_all_labels_dropped_is_no_label_at_all() -> None:
    network = Constant()
    images, targets = torch.zeros(8, 1, 2, 2), torch.eye(2).repeat(4, 1)
    method = GeneratorMethod(label_dropout=0.999999)
    denoising_losses(Denoiser(network), images, targets, method, 0)
    assert torch.equal(network.targets, torch.zeros(8, 2))


def test_the_published_half_life_rule() -> None:
    published = GeneratorMethod(batch=512, half_life_images=500_000, half_life_ramp=0.05)
    assert averaging_decay(published, 51_200) == pytest.approx(0.870551, abs=1e-6)
    assert averaging_decay(published, 200_000_000) == pytest.approx(0.999290, abs=1e-6)
    # Half of what it was is forgotten after one half-life.
    steps = 500_000 / 512
    assert averaging_decay(published, 200_000_000) ** steps == pytest.approx(0.5)
