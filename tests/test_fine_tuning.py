"""A recipe that fine-tunes, against the file it begins from and the rates its parts should have."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from mixcal.backbones.mobilenet import mobilenet_v2
from mixcal.build import prepare
from mixcal.core.clock import Clock
from mixcal.data.options import DataOptions, ViewOptions
from mixcal.recipe import Method, Named, Recipe, Running
from mixcal.run import assemble
from mixcal.training.optimizers import set_learning_rate
from mixcal.training.options import OptimizerOptions
from tests.support.stand_ins import stand_in


def published(path: Path) -> dict[str, torch.Tensor]:
    """A file as torchvision's are: a state dict, a head of other classes under its own name."""
    torch.manual_seed(5)
    state = mobilenet_v2(7, stem="imagenet").state_dict()
    renamed = {name.replace("head.", "classifier.1."): tensor for name, tensor in state.items()}
    torch.save(renamed, path)
    return renamed


def test_the_body_comes_from_the_file_and_learns_slowly(tmp_path: Path) -> None:
    given = published(tmp_path / "mobilenet.pth")
    knobs = {"stem": "imagenet", "weights": str(tmp_path / "mobilenet.pth")}
    method = Method(
        steps=2,
        batch=4,
        averaging_decay=0,
        data=DataOptions(source="cub-200-2011", image_size=40),
        views=ViewOptions(crop="resized", size=32),
        backbone=Named(name="mobilenet-v2", knobs=knobs),
        optimizer=OptimizerOptions(
            learning_rate=0.01, momentum=0.0, weight_decay=0.0, body_rate_factor=0.1
        ),
    )
    recipe = Recipe(method=method, running=Running(threads=1, device="cpu"))
    prepared = prepare(recipe, stand_in("cub-200-2011", size=40))
    with pytest.warns(UserWarning, match="1280 → 7; this network's own, a head 1280 → 200"):
        machine = assemble(recipe, prepared)
    before = {k: v.clone() for k, v in machine.network.state_dict().items()}
    body = [name for name in before if not name.startswith("head.")]
    assert all(torch.equal(before[name], given[name]) for name in body)
    assert before["head.weight"].shape == (200, 1280)
    machine.network.train()
    clock = Clock.at(0, seed=0, steps=2, epoch_steps=2)
    machine.objective(machine.network, machine.loader.batch(0), clock).total().backward()
    gradients = {name: p.grad.clone() for name, p in machine.network.named_parameters()}
    set_learning_rate(machine.optimizer, 0.01)
    machine.optimizer.step()
    for name, parameter in machine.network.named_parameters():
        rate = 0.01 if name.startswith("head.") else 0.001
        expected = before[name] - rate * gradients[name]
        torch.testing.assert_close(parameter.detach(), expected, atol=1e-7, rtol=1e-4)


def test_without_a_file_it_begins_elsewhere(tmp_path: Path) -> None:
    given = published(tmp_path / "mobilenet.pth")
    method = Method(steps=1, batch=4, data=DataOptions(source="cub-200-2011", image_size=40))
    method = replace(method, backbone=Named(name="mobilenet-v2", knobs={"stem": "imagenet"}))
    recipe = Recipe(method=method, running=Running(threads=1, device="cpu"))
    machine = assemble(recipe, prepare(recipe, stand_in("cub-200-2011", size=40)))
    name = "features.1.conv.0.0.weight"
    assert not torch.equal(machine.network.state_dict()[name], given[name])
