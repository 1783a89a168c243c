"""Every recipe that comes along, against what it promises: it can be read, built, and trained.

Files whose name begins with "_" are parts that others extend. The fast tests read every recipe,
make its objective and prepare its data; a network is built, without memory, once for each backbone
with its knobs, sizes and number of classes. Two steps are taken with a small network in place of
the recipe's own, in the fast tests once for each kind of method (recipes that differ in numbers
alone are one kind), by every recipe in the slow ones, which also let every network take two steps
at its own size.
"""

import re
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch

from mixcal import catalog
from mixcal.build import Prepared, make_objective, network_sizes, prepare
from mixcal.core.clock import Clock
from mixcal.core.errors import BadInput
from mixcal.recipe import Named, Recipe, read_recipe
from mixcal.run import assemble
from mixcal.training.options import OptimizerOptions, ScheduleOptions
from tests.support.mixed import blank_store
from tests.support.stand_ins import SHAPES, stand_in

FOLDER = Path(__file__).parent.parent / "recipes"
# Recipes of generators are another kind; tests/synthesis/test_options.py looks after them.
EVERY = sorted(p for p in FOLDER.rglob("*.toml") if p.parent.name != "generators")
RECIPES = [path for path in EVERY if not path.name.startswith("_")]
PARTS = [path for path in EVERY if path.name.startswith("_")]
MEASURED = re.compile(r"\b(measured|not run here)\b", re.IGNORECASE)
# Networks for text; every other one is replaced by "small" where only the method is in question.
TEXT_BACKBONES = ("sentence-cnn",)
# Calibrators that do nothing for the first steps of a run.
WARMING = ("calibratemix", "random-mixup")
PREPARED: dict[str, Prepared] = {}
SCRATCH, RUNS = tempfile.TemporaryDirectory(prefix="mixcal-ledgers-"), count()
BUILT: set[str] = set()


def name_of(path: Path) -> str:
    return path.relative_to(FOLDER).with_suffix("").as_posix()


def shrunken(recipe: Recipe) -> Recipe:
    """The same recipe with batches of four on one thread, for a data set that is not there."""
    method = replace(
        recipe.method,
        batch=4,
        unlabeled_ratio=min(recipe.method.unlabeled_ratio, 2),
    )
    return Recipe(method=method, running=replace(recipe.running, threads=1, device="cpu"))


def with_small_network(recipe: Recipe) -> Recipe:
    """The same method on a network that costs nothing."""
    if recipe.method.backbone.name in TEXT_BACKBONES:
        return recipe
    size = SHAPES[recipe.method.data.source].size
    knobs = {"stride": 2} if size > 8 else {}
    return replace(recipe, method=replace(recipe.method, backbone=Named(name="small", knobs=knobs)))


def prepared_for(recipe: Recipe, *, small: bool = False) -> Prepared:
    """The recipe's splits and views over a stand-in; `small` pictures where only steps matter."""
    data, views = recipe.method.data, recipe.method.views
    size = data.image_size
    if small and max(size, SHAPES[data.source].size) > 64:
        size, views = 40, replace(views, size=32)
    # Recipes that differ in nothing the preparation reads share its result.
    method = replace(
        recipe.method,
        views=views,
        algorithm=None if recipe.method.algorithm is None else Named(name="fixmatch"),
        calibrators=(),
        backbone=Named(name="small"),
        precision="float32",
        weak_branch="joint",
        optimizer=OptimizerOptions(),
        schedule=ScheduleOptions(),
    )
    key = repr((method, size))
    if key not in PREPARED:
        PREPARED[key] = prepare(replace(recipe, method=method), stand_in(data.source, size=size))
    # Each run has a folder of its own for memories in files.
    prepared = PREPARED[key]
    scratch = Path(SCRATCH.name) / str(next(RUNS))
    return replace(prepared, facts=replace(prepared.facts, scratch=scratch))


def two_steps(recipe: Recipe, prepared: Prepared) -> None:
    """The first two steps of the recipe's run; every loss finite, every step moves the network."""
    recipe = awake(with_stand_ins(without_files(recipe), prepared))
    machine = assemble(recipe, prepared)
    machine.network.train()
    for step in range(2):
        clock = Clock.at(step, seed=0, steps=2, epoch_steps=1)
        outcome = machine.objective(machine.network, machine.loader.batch(step), clock)
        assert torch.isfinite(outcome.total())
        outcome.total().backward()
        before = {k: v.clone() for k, v in machine.network.head.state_dict().items()}
        machine.optimizer.step()
        machine.optimizer.zero_grad(set_to_none=True)
        after = machine.network.head.state_dict()
        assert any(not torch.equal(before[key], after[key]) for key in before)


def without_files(recipe: Recipe) -> Recipe:
    """The same network from random weights: the files with other people's are not here."""
    backbone = recipe.method.backbone
    knobs = {key: value for key, value in backbone.knobs.items() if key != "weights"}
    backbone = replace(backbone, knobs=knobs)
    return replace(recipe, method=replace(recipe.method, backbone=backbone))


def awake(recipe: Recipe) -> Recipe:
    """The same with a warm-up of one step, so that the second step mixes."""
    calibrators = tuple(
        replace(found, knobs={**without_warmup(found), "warmup_steps": 1})
        if found.name in WARMING
        else found
        for found in recipe.method.calibrators
    )
    return replace(recipe, method=replace(recipe.method, calibrators=calibrators))


def without_warmup(found: Named) -> dict[str, Any]:
    return {key: value for key, value in found.knobs.items() if not key.startswith("warmup")}


def with_stand_ins(recipe: Recipe, prepared: Prepared) -> Recipe:
    """The same recipe with black mixed images in place of those that take hours to make."""
    facts = prepared.facts
    calibrators = tuple(
        replace(c, knobs={**c.knobs, "images": black_images(facts.class_names, facts.image_shape)})
        if c.name == "csm"
        else c
        for c in recipe.method.calibrators
    )
    return replace(recipe, method=replace(recipe.method, calibrators=calibrators))


@cache
def black_images(classes: tuple[str, ...], shape: tuple[int, ...]) -> str:
    """A store of black images, made once."""
    return blank_store(Path(tempfile.mkdtemp(prefix="mixcal-black-")) / "store", classes, shape)


def kind_of_method(recipe: Recipe) -> str:
    """What decides which code a step runs."""
    method = recipe.method
    parts: tuple[Any, ...] = (
        None if method.algorithm is None else (method.algorithm.name, kinds(method.algorithm)),
        [(c.name, kinds(c)) for c in method.calibrators],
        method.precision,
        method.weak_branch,
        method.optimizer.name,
        method.data.order,
        method.data.source if method.backbone.name in TEXT_BACKBONES else "",
    )
    return repr(parts)


def kinds(found: Named) -> dict[str, Any]:
    """Its knobs with what a number is in place of the number, and without the images' folder: how
    much of something there is runs no other code. (Whether there is any does.)"""
    return {
        key: (type(value).__name__, value != 0) if isinstance(value, int | float) else value
        for key, value in found.knobs.items()
        if key != "images"
    }


def first_of_each(paths: Iterable[Path], key: Any) -> list[Path]:
    """The first recipe of every kind; one that cannot be read fails in a test of its own."""
    found: dict[str, Path] = {}
    for path in paths:
        try:
            found.setdefault(key(read_recipe(path)), path)
        except BadInput:
            continue
    return list(found.values())


@pytest.mark.parametrize("path", RECIPES, ids=name_of)
def test_is_read_and_built(path: Path) -> None:
    recipe = without_files(shrunken(read_recipe(path)))
    header = path.read_text().partition("[")[0]
    assert MEASURED.search(header), f"{path} must say in its header: measured …, or not run here"
    assert recipe.method.data.source in SHAPES, "add the data set's shape to SHAPES"
    prepared = prepared_for(recipe)
    recipe = with_stand_ins(recipe, prepared)
    make_objective(recipe.method, prepared.facts)
    build_without_memory(recipe, prepared)


def build_without_memory(recipe: Recipe, prepared: Prepared) -> None:
    """The recipe's network on no device; one of a kind is enough."""
    backbone, sizes = recipe.method.backbone, network_sizes(prepared)
    key = repr((backbone, prepared.facts.classes, sizes))
    if key not in BUILT:
        with torch.device("meta"):
            catalog.make("backbone", backbone.name, backbone.knobs, prepared.facts.classes, **sizes)
        BUILT.add(key)


@pytest.mark.parametrize("path", PARTS, ids=name_of)
def test_parts_are_used(path: Path) -> None:
    assert any(path.name in other.read_text() for other in EVERY if other != path)


@pytest.mark.parametrize("path", first_of_each(RECIPES, kind_of_method), ids=name_of)
def test_every_kind_of_method_takes_two_steps(path: Path) -> None:
    recipe = with_small_network(shrunken(read_recipe(path)))
    two_steps(recipe, prepared_for(recipe, small=True))


@pytest.mark.slow
@pytest.mark.parametrize("path", RECIPES, ids=name_of)
def test_takes_two_steps(path: Path) -> None:
    recipe = with_small_network(shrunken(read_recipe(path)))
    two_steps(recipe, prepared_for(recipe, small=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    first_of_each(
        RECIPES, lambda r: repr((r.method.backbone, r.method.data.source, r.method.optimizer.name))
    ),
    ids=name_of,
)
def test_every_network_takes_two_steps_at_its_own_size(path: Path) -> None:
    recipe = shrunken(read_recipe(path))
    two_steps(recipe, prepared_for(recipe))
