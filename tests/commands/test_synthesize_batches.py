"""Sets made and annotated batch by batch, and by Ray, against what the commands wrote."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mixcal.commands.encoders import encoder_named
from mixcal.commands.synthesize_annotate import LoadedSetScorer
from mixcal.commands.training_images import training_images
from mixcal.data.mixed_store import MixedStore
from mixcal.data.options import DataOptions
from mixcal.synthesis.annotation import Prototypes, Rule
from mixcal.synthesis.generation import Columns, Plan
from mixcal.synthesis.options import GeneratorRunning
from mixcal.synthesis.ray_jobs import LoadedSetMaker, by_ray, locally


def scorer_of(made: Path) -> dict[str, Any]:
    """What a worker is given to annotate the store as `made` did: its prototypes made anew."""
    encoder = encoder_named(f"run:{made / 'run'}", size=224, device=torch.device("cpu"))
    header = MixedStore.open(made / "store").header
    data = DataOptions(**header["data"])
    images = training_images(data, header["data_seed"], GeneratorRunning())
    pool = images.source.train
    means = []
    for label in range(3):
        own = [place for place in images.members if pool.labels[place] == label][:5]
        means.append(encoder(pool.take(np.array(own))).mean(0))
    return {
        "store": str(made / "store"),
        "encoder": f"run:{made / 'run'}",
        "size": 224,
        "prototypes": Prototypes(np.array(means)),
        "rule": Rule(shares=True),
        "device": "cpu",
        "threads": 0,
    }


def agrees(columns: Columns, made: Path) -> None:
    """Some sets' answers against what the command wrote into the store."""
    annotation = MixedStore.open(made / "store").annotation()
    assert annotation is not None
    assert annotation.targets is not None
    rows = columns["set"]
    assert columns["projections"] == pytest.approx(annotation.projections[rows], abs=1e-4)
    assert columns["weights"] == pytest.approx(annotation.weights[rows], abs=1e-4)
    assert columns["targets"] == pytest.approx(annotation.targets[rows], abs=1e-4)


def test_annotation_through_batches(made: Path) -> None:
    found = list(locally(LoadedSetScorer, scorer_of(made), np.array([1, 0])))
    assert [columns["set"].tolist() for columns in found] == [[*range(32, 46)], [*range(32)]]
    for columns in found:
        agrees(columns, made)


@pytest.fixture(scope="module")
def ray() -> Iterator[None]:
    """Ray with one processor. Not among the packages of the tests: it is heavy."""
    package = pytest.importorskip("ray", reason="ray is an extra")
    package.init(num_cpus=1, include_dashboard=False)
    yield
    package.shutdown()


@pytest.mark.filterwarnings("ignore")
def test_generation_by_ray_makes_the_same_bytes(made: Path, ray: None) -> None:
    store = MixedStore.open(made / "store")
    plan = Plan(sets=46, steps=3, sets_per_pass=4)
    given = {"generator": str(made / "generator"), "plan": plan, "device": "cpu"}
    found = list(by_ray(LoadedSetMaker, given, np.arange(12), workers=1))
    assert sorted(index for columns in found for index in columns["set"]) == list(range(46))
    for columns in found:
        assert np.asarray(columns["images"]).tobytes() == store.images[columns["set"]].tobytes()
        assert np.array_equal(columns["pair"], store.pairs[columns["set"]])
        assert np.array_equal(columns["seed"], store.seeds[columns["set"]])


@pytest.mark.filterwarnings("ignore")
def test_annotation_by_ray_is_that_of_one_process(made: Path, ray: None) -> None:
    given = scorer_of(made)
    (whole,) = locally(LoadedSetScorer, given, np.array([0]))
    spread = list(by_ray(LoadedSetScorer, given, np.array([0, 1]), workers=1))
    assert sorted(index for columns in spread for index in columns["set"]) == list(range(46))
    for columns in spread:
        agrees(columns, made)
        if 0 in columns["set"]:
            assert np.array_equal(columns["projections"], whole["projections"])
