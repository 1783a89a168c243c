"""`mixcal probe --noise` and `--foreign`: what a run, or several as one, say of what they cannot
know."""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mixcal.commands.probe import preprocessing_of, target
from mixcal.commands.ways import members_of, rescaler_of_ensemble, way_of
from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions, as_logits

if TYPE_CHECKING:
    from torch import Tensor

    from mixcal.commands.trained import Trained
    from mixcal.judging.rescaling.registry import Rescaler


@dataclass(frozen=True, slots=True, kw_only=True)
class Strangers:
    """Samples of no class: where they come from, and how one network sees them."""

    name: str
    ids: np.ndarray
    raw: "Iterator[Tensor]"
    seen: "Callable[[Tensor], Tensor]"


def strangers(options: argparse.Namespace) -> int:
    """Ask, write, say where and what to do with it."""
    from mixcal.commands.rescale import write_new
    from mixcal.judging.rescaling.registry import name_of, transformed
    from mixcal.predicting.ensemble import ensembled

    paths = [member for word in options.runs for member in members_of(word)]
    made = [_of_run(options, path, alone=len(paths) == 1) for path in paths]
    trained, whole = made[0]
    rescaler: Rescaler | None = trained.rescaler
    if len(made) > 1:
        whole = ensembled([predictions for _, predictions in made])
        rescaler = rescaler_of_ensemble(options, options.runs)
    way = whole.notes.get("way", "")
    stem = f"{whole.source}-{way}" if way else whole.source
    path = target(options, trained, stem, ".npz")
    notes = {"weights": trained.weights} | ({"way": way} if way else {})
    scores: dict[str, np.ndarray] = {whole.kind: whole.scores}
    if whole.members is not None:
        scores["members"] = whole.members
    files = {path: (notes, scores)}
    if rescaler is not None:
        name = name_of(rescaler)
        features = np.empty((len(whole), 0), np.float32)
        features = features if whole.features is None else whole.features
        probs = transformed(rescaler, as_logits(whole.scores, whole.kind), features=features)
        after = path.with_name(f"{path.stem}-{name}.npz")
        files[after] = (notes | {"rescaler": name}, {"probs": probs})
    for file, (said, arrays) in files.items():
        record = _record(whole, said, arrays)
        write_new(file, lambda part, r=record: _save(part, r), overwrite=options.overwrite)
        print(f"written: {file}")
    highest = float(whole.probs.max(1).mean())
    print(f"{len(whole):,} samples of {whole.source}, mean winning score {100 * highest:.1f} %")
    familiar = f"predictions of `mixcal predict … --split test`, by {way}," if way else paths[0]
    print(f"judge it: mixcal judge {familiar} --ood {path}")
    return 0


def _of_run(
    options: argparse.Namespace, path: Path, *, alone: bool
) -> tuple["Trained", Predictions]:
    """One run and what it says; its rescaler is left out where it would not fit."""
    from mixcal.commands.trained import trained_run
    from mixcal.predicting.strangers import answered
    from mixcal.run import mirrors

    # As in `mixcal predict`: fitted on logits of single passes.
    rescales = alone and (options.rescaler or options.mc_dropout is None)
    trained = trained_run(
        path,
        weights=options.weights,
        rescaler=options.rescaler if rescales else None,
        device=options.device,
    )
    source = trained.prepared.source
    way = way_of(options, flips=mirrors(trained.recipe, source))
    found = _noise(options, trained) if options.noise else _foreign(options, trained)
    answer = answered(trained.network, found.raw, found.seen, way)
    return trained, Predictions(
        scores=answer.scores.numpy(),
        kind=way.kind,
        # Of no class; they are never written.
        labels=np.zeros(len(found.ids), dtype=np.int64),
        classes=source.classes,
        ids=found.ids,
        source=found.name,
        features=answer.features.numpy(),
        members=None if answer.members is None else answer.members.numpy(),
        notes={} if way.name == "single-pass" else {"way": way.name},
    )


def _noise(options: argparse.Namespace, trained: "Trained") -> Strangers:
    from mixcal.predicting.strangers import noise

    preprocessing = preprocessing_of(trained)
    if options.test_time is not None:
        raise BadInput("--test-time changes pictures, and noise is none; leave it out.")
    count = options.samples or len(trained.prepared.splits.test)
    if not count:
        raise BadInput(f"{trained.folder.path} has no test images; say how many with --samples.")
    return Strangers(
        name="noise",
        ids=np.arange(count),
        raw=noise(preprocessing, count, seed=options.seed, clip=options.clip),
        seen=lambda inputs: inputs,
    )


def _foreign(options: argparse.Namespace, trained: "Trained") -> Strangers:
    """Another data set's test pictures, evenly chosen if not all."""
    from dataclasses import replace

    from mixcal.build import open_source
    from mixcal.data.options import DataOptions
    from mixcal.predicting.strangers import raw_pictures_of, seen_by

    own, recipe, preprocessing = trained.prepared, trained.recipe, preprocessing_of(trained)
    folder = Path(options.foreign)
    data = DataOptions(source=options.foreign)
    if folder.is_dir():
        data = DataOptions(source="folder", path=str(folder), image_size=max(preprocessing.stored))
    if options.foreign == own.source.name:
        raise BadInput(
            f"{options.foreign} is what {trained.folder.path} was trained on; name another set."
        )
    source = open_source(replace(recipe.method, data=data), recipe.running)
    if source.kind != "image" or source.test is None:
        raise BadInput(f"{source.name} has no test pictures; name another data set.")
    for name in options.leave_out:
        if name not in source.classes:
            raise BadInput(
                f"--leave-out {name}: {source.name} has the classes "
                f"{', '.join(source.classes[:12])}{' …' if len(source.classes) > 12 else ''}."
            )
    left_out = [source.classes.index(name) for name in options.leave_out]
    index = np.flatnonzero(~np.isin(source.test.labels, left_out))
    most = min(options.samples or len(own.splits.test) or len(index), len(index))
    if not most:
        raise BadInput(f"Nothing of {source.name} is left; leave fewer classes out.")
    index = index[np.linspace(0, len(index) - 1, most).round().astype(np.int64)]
    return Strangers(
        name=folder.name,
        ids=source.test.ids[index],
        raw=raw_pictures_of(source.test, index, preprocessing),
        seen=seen_by(preprocessing),
    )


def _record(
    whole: Predictions, notes: dict[str, str], arrays: dict[str, np.ndarray]
) -> dict[str, Any]:
    # No labels: nobody can take these for judged predictions.
    return {
        "ids": whole.ids,
        "classes": np.array(whole.classes),
        "split": np.array("foreign"),
        "source": np.array(whole.source),
        "notes": np.array(json.dumps(notes)),
        **arrays,
    }


def _save(path: Path, record: dict[str, Any]) -> None:
    with open(path, "wb") as file:
        np.savez(file, **record)
