"""`mixcal predict RUN --split test`: the run's own data predicted anew, in a file to judge."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mixcal.commands.ways import members_of, rescaler_of_ensemble, way_of
from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions

if TYPE_CHECKING:
    from mixcal.judging.rescaling.registry import Rescaler


def predict_split(options: argparse.Namespace, words: list[Path], others: list[Path]) -> int:
    """Predict, write, show the numbers; after the rescaler that fits, too, in a second file."""
    from mixcal.commands.rescale import write_new
    from mixcal.commands.terminal import numbers_table
    from mixcal.judging.rescaling.registry import name_of, rescaled
    from mixcal.judging.summary import summarized

    if others:
        raise BadInput(
            f"--split predicts the run's own data, and {others[0]} is no run; leave one of the two "
            "out."
        )
    if options.format:
        raise BadInput("--split writes a .npz of predictions; leave --format out.")
    made, rescaler = predictions_by(options, words)
    way = made.notes.get("way", "single-pass")
    path = options.out or _default(words, f"{options.split}-{way}")
    judged = {way: (path, made)}
    if rescaler is not None:
        name = name_of(rescaler)
        after = path.with_name(f"{path.stem}-{name}.npz")
        judged[f"{way}, {name}"] = (after, rescaled(rescaler, made))
    for target, predictions in judged.values():
        write_new(target, predictions.save, overwrite=options.overwrite)
    from rich.console import Console

    console = Console()
    numbers = {label: summarized(predictions) for label, (_, predictions) in judged.items()}
    console.print(numbers_table(options.split, numbers, "prediction"))
    for target, _ in judged.values():
        console.print(f"written: {target}", highlight=False, soft_wrap=True)
    return 0


def predictions_by(
    options: argparse.Namespace, words: list[Path]
) -> tuple[Predictions, "Rescaler | None"]:
    """The predictions of the model or of all of them, and what may rescale them.

    A run's own rescaler was fitted on logits of single passes; it fits those and their means.
    """
    from mixcal.predicting.ensemble import ensembled

    runs = [member for word in words for member in members_of(word)]
    alone = len(runs) == 1
    if options.features and not alone:
        raise BadInput("Members have no features in common; leave --features out.")
    members = [predictions_of_run(options, run, rescales=alone) for run in runs]
    if alone:
        return members[0]
    whole = ensembled([predictions for predictions, _ in members])
    return whole, rescaler_of_ensemble(options, words)


def predictions_of_run(
    options: argparse.Namespace, path: Path, *, rescales: bool
) -> tuple[Predictions, "Rescaler | None"]:
    """One run's network on the split asked for, and its rescaler if that is to be applied."""
    from mixcal.commands.trained import trained_run
    from mixcal.conclusion import predictions_on
    from mixcal.judging.rescaling.registry import needs_features
    from mixcal.run import mirrors

    wanted = rescales and (options.rescaler or options.mc_dropout is None)
    run = trained_run(
        path,
        weights=options.weights,
        rescaler=options.rescaler if wanted else None,
        device=options.device,
    )
    made = predictions_on(
        run.prepared,
        run.network,
        options.split,
        features=options.features
        or (run.rescaler is not None and needs_features(run.rescaler_name)),
        way=way_of(options, flips=mirrors(run.recipe, run.prepared.source)),
    )
    return made, run.rescaler


def _default(words: list[Path], stem: str) -> Path:
    if len(words) > 1:
        raise BadInput("Say where the ensemble's predictions go: --out FILE.npz.")
    folder = words[0] / "predictions"
    if not folder.is_dir():
        raise BadInput(f"{words[0]} has no predictions folder; say where: --out FILE.npz.")
    return folder / f"{stem}.npz"
