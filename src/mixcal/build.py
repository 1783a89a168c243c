"""From a recipe to the moving parts of a run."""

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn

from mixcal import catalog
from mixcal.backbones.foreign import as_backbone
from mixcal.core.errors import BadInput
from mixcal.core.facts import DataFacts
from mixcal.core.protocols import Algorithm, Calibrator, Objective, combine
from mixcal.core.seeds import derive
from mixcal.data.options import ARRAYS
from mixcal.data.preprocessing import Preprocessing, channel_statistics
from mixcal.data.reading import Reading, data_folder
from mixcal.data.source import Source
from mixcal.data.splits import Splits, split
from mixcal.data.views.view import ViewSet, image_views, text_views
from mixcal.methods.objectives.semi_supervised import SemiSupervised
from mixcal.methods.objectives.supervised import Supervised
from mixcal.recipe import Method, Recipe, Running

Made = TypeVar("Made")

USUAL_EPOCH = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The data of a run, split and ready to be seen."""

    source: Source
    splits: Splits
    preprocessing: Preprocessing | None
    views: ViewSet
    facts: DataFacts
    # A step's worth of everything: total steps and steps an epoch.
    steps: int
    epoch_steps: int


def open_source(method: Method, running: Running) -> Source:
    """Read the data set the recipe names."""
    if method.data.source == ARRAYS:
        raise BadInput(
            "This run was trained on arrays from Python, which its recipe cannot find again; use "
            "its predictions, or `mixcal export` it."
        )
    reading = Reading(
        folder=data_folder(running.data_folder),
        memory_megabytes=running.memory_megabytes,
        workers=running.workers,
        strict=running.strict,
    )
    name = method.data.source
    return _a(Source, catalog.make("source", name, {}, method.data, reading), name)


def _a(kind: type[Made], made: object, name: str) -> Made:
    """What a factory made, which may be a person's own, if it is of the kind wanted."""
    if isinstance(made, kind):
        return made
    raise BadInput(
        f"{name} makes {type(made).__name__}, not {kind.__name__}; name another factory."
    )


def prepare(
    recipe: Recipe, source: Source | None = None, *, scratch: Path | None = None
) -> Prepared:
    """Read and split the data; `source` stands in for the recipe's own (arrays from Python).

    `scratch` is where memories too large for the device may lie.
    """
    method = recipe.method
    check_names(method)
    source = open_source(method, recipe.running) if source is None else source
    splits = split(source, method.data, seed=method.seed)
    if not len(splits.labeled):
        raise BadInput(f"{source.name} has no labeled images; label some.")
    if method.algorithm is not None and not len(splits.unlabeled):
        raise BadInput(
            f"{source.name} has no unlabeled images, from which {method.algorithm.name} learns; "
            'add some, or set method.data.labeled_in_unlabeled=true, or method.algorithm="none".'
        )
    preprocessing = _preprocessing(source, method) if source.kind == "image" else None
    if preprocessing is None:
        views = text_views()
    else:
        views = image_views(method.views, preprocessing, flips=source.flips)
    supervised = method.algorithm is None
    epoch_steps = method.epoch_steps or (
        supervised_epoch(method, len(splits.labeled)) if supervised else USUAL_EPOCH
    )
    steps = method.steps if method.steps is not None else (method.epochs or 1) * epoch_steps
    labels = source.train.labels[splits.labeled]
    counts = np.bincount(labels, minlength=len(source.classes))
    facts = DataFacts(
        classes=len(source.classes),
        class_counts=tuple(counts.tolist()),
        labeled=len(splits.labeled),
        unlabeled=0 if supervised else len(splits.unlabeled),
        order=method.data.order,
        input_kind=source.kind,
        steps=steps,
        epoch_steps=epoch_steps,
        mean=preprocessing.mean if preprocessing else (0.0,),
        std=preprocessing.std if preprocessing else (1.0,),
        class_names=source.classes,
        image_shape=(*preprocessing.stored, preprocessing.channels) if preprocessing else None,
        splits=splits.fingerprint,
        scratch=scratch,
    )
    return Prepared(
        source=source,
        splits=splits,
        preprocessing=preprocessing,
        views=views,
        facts=facts,
        steps=steps,
        epoch_steps=epoch_steps,
    )


def supervised_epoch(method: Method, labeled: int) -> int:
    """Steps of one pass over the labeled images, or of as many images with those beside them."""
    if method.equal_data:
        return -(-labeled // ((1 + method.equal_data) * method.batch))
    return max(1, labeled // method.batch)


def _preprocessing(source: Source, method: Method) -> Preprocessing:
    raw = source.train.take(np.zeros(1, dtype=np.int64))
    stored = (int(raw.shape[2]), int(raw.shape[3]))
    size = (method.views.size, method.views.size) if method.views.size else stored
    if min(stored) < min(size):
        raise BadInput(f"method.views.size is {size[0]}, but the images are only {stored}.")
    mean, std = source.mean, source.std
    if mean is None or std is None:
        found = channel_statistics(source.train)
        mean, std = (tuple(round(v, 6) for v in side) for side in found)
    return Preprocessing(size=size, stored=stored, mean=mean, std=std)


def network_sizes(prepared: Prepared) -> dict[str, Any]:
    """What the data decide about a network: the size of its images, or the words it can read."""
    if prepared.preprocessing is None:
        return {"words": prepared.source.words}
    return {
        "channels": prepared.preprocessing.channels,
        "size": prepared.preprocessing.size[0],
    }


def check_kind(method: Method, source: Source) -> None:
    """An error for a network of words before pictures, or the other way round."""
    name, _ = catalog.spelled_out(method.backbone.name, method.backbone.knobs)
    if ":" in name:
        # A person's own factory knows what it reads.
        return
    factory = catalog.find(name, "backbone").factory()
    reads = "text" if "words" in inspect.signature(factory).parameters else "image"
    if reads != source.kind:
        things = {"text": "texts", "image": "pictures"}
        fitting = {"text": "sentence-cnn", "image": "small"}[source.kind]
        raise BadInput(
            f"method.backbone {method.backbone.name!r} reads {things[reads]}, and {source.name} "
            f'holds {things[source.kind]}; take another, for example "{fitting}".'
        )


def make_network(method: Method, prepared: Prepared) -> nn.Module:
    """The backbone with its initial weights, which depend on the seed alone."""
    more = network_sizes(prepared)
    check_kind(method, prepared.source)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(method.seed, "weights"))
        name, knobs = method.backbone.name, method.backbone.knobs
        made = catalog.make("backbone", name, knobs, prepared.facts.classes, **more)
        network = _a(nn.Module, made, name)
        if prepared.preprocessing is None:
            return network
        # A person's own factory may answer any module that makes logits.
        return as_backbone(network, prepared.facts.classes, **more)


def make_calibrator(method: Method, facts: DataFacts) -> Calibrator:
    """All of the recipe's calibrators as one."""
    return combine(
        [
            _a(Calibrator, catalog.make("calibrator", c.name, c.knobs, facts), c.name)
            for c in method.calibrators
        ]
    )


def check_names(method: Method) -> None:
    """An error for a part of the recipe, or a knob of one, that nobody knows or that is wrong."""
    catalog.settled("backbone", method.backbone.name, method.backbone.knobs)
    for calibrator in method.calibrators:
        catalog.settled("calibrator", calibrator.name, calibrator.knobs)
    if method.algorithm is not None:
        catalog.settled("algorithm", method.algorithm.name, method.algorithm.knobs)


def make_objective(
    method: Method, facts: DataFacts, *, averaged: nn.Module | None = None
) -> Objective:
    """Supervised, or a semi-supervised algorithm, under the recipe's calibrators."""
    autocast = torch.bfloat16 if method.precision == "bf16" else None
    calibrator = make_calibrator(method, facts)
    if method.algorithm is None:
        return Supervised(calibrator, autocast=autocast, averaged=averaged)
    name, knobs = method.algorithm.name, method.algorithm.knobs
    return SemiSupervised(
        _a(Algorithm, catalog.make("algorithm", name, knobs, facts), name),
        calibrator,
        weak_branch=method.weak_branch,
        autocast=autocast,
        averaged=averaged,
    )
