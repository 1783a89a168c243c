"""Generator recipes: those that come along are read and built; mistakes are one sentence."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from mixcal.core.errors import BadInput
from mixcal.data.splits import split
from mixcal.recipe import read_recipe
from mixcal.synthesis.model import make_network
from mixcal.synthesis.options import NetworkOptions, generator_recipe_from, read_generator_recipe
from tests.support.stand_ins import SHAPES, stand_in

FOLDER = Path(__file__).parents[2] / "recipes" / "generators"
RECIPES = sorted(FOLDER.glob("*.toml"))


@pytest.mark.parametrize(
    "options",
    [
        NetworkOptions(width=40, attention=(14,)),
        NetworkOptions(name="ddpm++", patch=1, width=24, multipliers=(1, 3)),
    ],
)
def test_widths_that_do_not_go_together_are_one_sentence(options: NetworkOptions) -> None:
    with pytest.raises(BadInput, match=r"method\.network cannot be built"):
        make_network(options, classes=3, shape=(28, 28, 1))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_generator_recipe_is_read_and_built(path: Path) -> None:
    recipe = read_generator_recipe(path)
    header = path.read_text().partition("[")[0].lower()
    assert "measured" in header or "not run here" in header
    shape = SHAPES[recipe.method.data.source]
    size = recipe.method.data.image_size or shape.size
    with torch.device("meta"):
        network = make_network(
            recipe.method.network, classes=shape.classes, shape=(size, size, shape.channels)
        )
    assert sum(parameter.numel() for parameter in network.parameters()) > 100_000


@pytest.mark.parametrize("seed", [0, 2])
def test_the_generator_sees_the_images_that_the_classifier_is_trained_on(seed: int) -> None:
    source = stand_in("fashion-mnist")
    theirs = read_generator_recipe(FOLDER / "fashion-mnist.toml").method
    ours = read_recipe(
        Path("csm/fashion-mnist"), (f"method.seed={seed}",), search=[FOLDER.parent]
    ).method
    made = split(source, theirs.data, seed=theirs.seed)
    found = split(source, ours.data, seed=ours.seed)
    assert found.fingerprint == made.fingerprint
    assert (len(made.labeled), len(made.validation)) == (12_000, 6_000)
    assert not np.intersect1d(made.labeled, made.validation).size
    assert np.bincount(source.train.labels[made.labeled]).tolist() == [1_200] * 10


def test_a_written_recipe_reads_back(tmp_path: Path) -> None:
    recipe = read_generator_recipe(RECIPES[0], ("method.seed=3", "method.network.width=16"))
    (tmp_path / "again.toml").write_text(recipe.to_toml())
    again = read_generator_recipe(tmp_path / "again.toml")
    assert again == recipe
    assert again.fingerprint == recipe.fingerprint
    assert again.method.network.width == 16


def test_running_decides_no_number() -> None:
    one = generator_recipe_from({"running": {"threads": 2}}, where="x")
    assert one.fingerprint == generator_recipe_from({}, where="x").fingerprint
    other = generator_recipe_from({"method": {"batch": 8}}, where="x")
    assert one.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"method": {"image": 1}}, "did you mean 'images'"),
        ({"method": {"images": 0}}, r"method\.images is 0"),
        ({"method": {"batch": -4}}, r"method\.batch is -4"),
        ({"method": {"learning_rate": math.nan}}, "learning_rate is nan"),
        ({"method": {"learning_rate": -1.0}}, r"learning_rate is -1\.0"),
        ({"method": {"learning_rate": math.inf}}, "learning_rate is inf"),
        ({"method": {"level_mean": math.nan}}, "level_mean is nan"),
        ({"method": {"level_std": -1.0}}, r"level_std is -1\.0"),
        ({"method": {"half_life_ramp": math.nan}}, "half_life_ramp is nan"),
        ({"method": {"warmup_images": -1}}, "warmup_images is -1"),
        ({"method": {"label_dropout": math.nan}}, "label_dropout is nan"),
        ({"method": {"network": {"width": 0}}}, "width is 0"),
        ({"method": {"network": {"patch": 0}}}, "patch is 0"),
        ({"method": {"network": {"blocks": 0}}}, "blocks is 0"),
        ({"method": {"network": {"multipliers": []}}}, "multipliers is empty"),
        ({"method": {"network": {"multipliers": [1, 0]}}}, r"multipliers is \(1, 0\)"),
        ({"method": {"network": {"attention": [0]}}}, r"attention is \(0,\)"),
        ({"method": {"network": {"dropout": 2.0}}}, r"dropout is 2\.0"),
        ({"running": {"threads": -1}}, "threads is -1"),
        ({"running": {"log_every": 0}}, "log_every is 0"),
        ({"method": {"label_dropout": 1.0}}, r"label_dropout is 1\.0"),
        ({"method": {"network": {"name": "unnet"}}}, "unnet"),
        ({"method": {"augmentation": 1.5}}, r"augmentation is 1\.5"),
        ({"method": {"augmentation": 0.1}}, "not told would draw augmented images"),
        ({"method": {"network": {"told_augmentation": True}}}, 'not for "unet"'),
    ],
)
def test_mistakes_are_one_sentence(record: dict, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        generator_recipe_from(record, where="mine.toml")
