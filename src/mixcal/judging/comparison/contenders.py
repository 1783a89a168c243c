"""Contenders: what is compared, from run folders and prediction files of any origin."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Int

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Kind
from mixcal.judging.reading import read_predictions
from mixcal.judging.report.judged import Judged
from mixcal.judging.report.run_files import judged_file, read_record

Weights = Literal["averaged", "raw", "best"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which of a run's predictions are compared, and how they are judged.

    No weights: the averaged ones where the run averaged. No rescaler: as the network predicts.
    """

    split: str = "test"
    weights: Weights | None = None
    rescaler: str = ""
    kind: Kind | None = None
    bins: int = 15
    level: float = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """Judged predictions with the run they come from, if they come from one.

    `order` holds the samples' positions in the file, which pairing may have rearranged.
    """

    name: str
    path: Path
    judged: Judged
    order: Int[np.ndarray, " n"]
    folder: Path | None = None
    recipe: Mapping[str, Any] = field(default_factory=dict)

    def value(self, metric: str) -> float:
        """One number."""
        return self.judged.value(metric)


def read_contenders(paths: Sequence[Path], choice: Choice) -> list[Contender]:
    """Every run folder and file, under names that tell them apart."""
    if len(paths) < 2:
        raise BadInput("There is one run only; give two or more to compare.")
    seen: dict[Path, Path] = {}
    for path in paths:
        if (same := seen.setdefault(path.resolve(), path)) is not path:
            raise BadInput(f"{same} is given twice; leave one out.")
    found = [_read(path, choice) for path in paths]
    names = told_apart([path.resolve() for path in paths])
    return [replace(one, name=name) for one, name in zip(found, names, strict=True)]


def validation_value(contender: Contender, metric: str, choice: Choice) -> float:
    """The metric on the run's validation predictions, of the same weights."""
    if contender.folder is None:
        raise BadInput(
            f"{contender.path} is no run folder; the best are chosen on validation data only, "
            "and those are in run folders."
        )
    file = _file_of_run(contender.folder, replace(choice, split="validation", rescaler=""))
    record = read_record(contender.folder / "judgement.json")
    return judged_file(file, record, bins=choice.bins, level=choice.level).value(metric)


def told_apart(paths: Sequence[Path]) -> list[str]:
    """The shortest ends of the paths that differ."""
    bare = [path if path.is_dir() else path.with_suffix("") for path in paths]
    for parts in range(1, max(len(path.parts) for path in bare) + 1):
        names = ["/".join(path.parts[-parts:]) for path in bare]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]


def _read(path: Path, choice: Choice) -> Contender:
    if not path.exists():
        raise BadInput(f"{path} does not exist; give run folders and prediction files.")
    folder = path if path.is_dir() else _run_around(path)
    if folder is None:
        predictions = read_predictions(path, choice.kind)
        judged = Judged.of(predictions, name=path.stem, bins=choice.bins, level=choice.level)
    else:
        file = _file_of_run(path, choice) if path.is_dir() else path
        record = read_record(folder / "judgement.json")
        judged = judged_file(file, record, bins=choice.bins, level=choice.level)
    return Contender(
        name=path.stem,
        path=path,
        judged=judged,
        order=np.arange(len(judged.predictions)),
        folder=folder,
        recipe={} if folder is None else _recipe(folder / "recipe.toml"),
    )


def _run_around(path: Path) -> Path | None:
    """The run whose folder of predictions a file lies in."""
    folder = path.resolve().parent
    inside = folder.name == "predictions" and (folder.parent / "recipe.toml").is_file()
    return folder.parent if inside and path.suffix == ".npz" else None


def _file_of_run(folder: Path, choice: Choice) -> Path:
    held = {file.stem: file for file in sorted((folder / "predictions").glob("*.npz"))}
    if not held:
        raise BadInput(
            f"{folder} holds no predictions/*.npz; give a run folder that `mixcal train` has "
            "finished."
        )
    only_raw = choice.split not in held and f"{choice.split}-raw" in held
    weights = "raw" if choice.weights is None and only_raw else choice.weights
    end = [part for part in (weights, choice.rescaler) if part and part != "averaged"]
    wanted = "-".join([choice.split, *end])
    if wanted not in held:
        raise BadInput(
            f"{folder} has no predictions {wanted!r} (it has {', '.join(held)}); choose others "
            "with --split, --weights or --rescaler."
        )
    return held[wanted]


def _recipe(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read ({error}); train the run anew.") from None
