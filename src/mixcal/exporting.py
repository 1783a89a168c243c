"""From a run folder to a bundle: the network to serve, as its last or best checkpoint has it."""

import warnings
from pathlib import Path
from typing import Any, Literal

from torch import Tensor

from mixcal import __version__, catalog
from mixcal.core.errors import BadInput
from mixcal.data.preprocessing import Preprocessing
from mixcal.judging.rescaling.registry import Rescaler, find_rescaler
from mixcal.judging.rescaling.saving import load_rescaler
from mixcal.recipe import read_recipe
from mixcal.serving.bundle import Bundle
from mixcal.training.checkpoints import newest_checkpoint, read_tensors, under
from mixcal.training.folder import RunFolder

Weights = Literal["averaged", "raw", "best"]
LABELS = {"averaged": "averaged, last", "raw": "raw, last", "best": "best by validation"}
SHOWN = ("error", "ece", "nll", "brier")


def bundle_of(path: Path, *, weights: Weights | None = None, rescaler: str = "") -> Bundle:
    """The bundle of a run. `weights`: averaged ones where there are any, unless named.

    `rescaler`: the run's own for these weights unless named; "none": none.
    """
    folder = RunFolder.open(path)
    record = folder.read_json(folder.network)
    if record["preprocessing"] is None:
        raise BadInput(f"{path} was trained on text; only networks for pictures can be exported.")
    preprocessing = Preprocessing.from_json(record["preprocessing"])
    chosen, tensors, step = weights_of(folder, weights)
    classes = tuple(record["classes"])
    knobs = {key: value for key, value in record["backbone"].items() if key != "name"}
    entry, settled = catalog.settled(
        "backbone",
        record["backbone"]["name"],
        knobs,
        channels=preprocessing.channels,
        size=preprocessing.size[0],
    )
    name, fitted = rescaler_of(folder, chosen, rescaler)
    return Bundle(
        factory=entry.target,
        knobs=settled,
        classes=classes,
        preprocessing=preprocessing,
        tensors=tensors,
        rescaler=fitted,
        flips=record.get("flips", False),
        origin=_origin(folder, chosen, step, name),
    )


def weights_of(folder: RunFolder, wanted: Weights | None) -> tuple[Weights, dict[str, Tensor], int]:
    """Which weights, the weights, and after how many steps."""
    if wanted == "best":
        if not folder.best.is_file():
            raise BadInput(
                f"{folder.path} kept no best checkpoint (nothing was selected on validation data); "
                "leave --weights out."
            )
        best = read_tensors(folder.best)
        return "best", dict(best.tensors), best.step
    checkpoint = newest_checkpoint(folder.checkpoints)
    if checkpoint is None:
        raise BadInput(f"{folder.path} has no checkpoint that can be read; train the run first.")
    if not folder.finished():
        warnings.warn(
            f"{folder.path} has not come to its end; these are the weights after "
            f"{checkpoint.step:,} steps.",
            stacklevel=2,
        )
    network = under(checkpoint.tensors, "network")
    averaged = under(checkpoint.tensors, "average")
    if wanted == "averaged" and not averaged:
        raise BadInput(f"{folder.path} averaged no weights; say --weights raw.")
    if wanted == "raw" or not averaged:
        return "raw", network, checkpoint.step
    # Buffers are those of the live network.
    return "averaged", {**network, **averaged}, checkpoint.step


def rescaler_of(folder: RunFolder, weights: Weights, wanted: str) -> tuple[str, Rescaler | None]:
    """The rescaler fitted for these weights, by name; unless named, that of the recipe.

    Others that `mixcal rescale` has fitted since are used where they are asked for.
    """
    name = wanted or read_recipe(folder.recipe).running.rescaler
    if name == "none":
        return "none", None
    find_rescaler(name)
    path = folder.rescaler(name, weights)
    if path.is_file():
        return name, load_rescaler(path)
    if not wanted:
        return "none", None
    raise BadInput(
        f"{folder.path} has no rescaler {wanted!r} for its {weights} weights; fit it with "
        f"`mixcal rescale`, or say --rescaler none."
    )


def _origin(folder: RunFolder, weights: Weights, step: int, rescaler: str) -> dict[str, Any]:
    """Where the weights come from, and how they did there."""
    origin: dict[str, Any] = {
        "mixcal": __version__,
        "run": folder.path.name,
        "step": step,
        "weights": LABELS[weights],
        "rescaler": rescaler,
    }
    if not folder.finished():
        return origin
    judgement = folder.read_json(folder.judgement)
    origin |= {key: judgement[key] for key in ("recipe", "seed", "splits", "label_budget")}
    for split, judged in judgement["judged"].items():
        for label in (LABELS[weights], f"{LABELS[weights]}, {rescaler}"):
            if label in judged:
                metrics = judged[label]["metrics"]
                numbers = {name: metrics[name]["value"] for name in SHOWN}
                origin.setdefault("judged", {}).setdefault(split, {})[label] = {
                    "n": judged[label]["n"],
                    **numbers,
                }
    return origin
