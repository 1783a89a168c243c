"""Ways of predicting as a person asks for them, and the models they are asked of."""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mixcal.core.errors import BadInput

if TYPE_CHECKING:
    from mixcal.judging.rescaling.registry import Rescaler
    from mixcal.predicting.way import Way
    from mixcal.serving.bundle import Bundle
    from mixcal.serving.ensemble import Ensemble
    from mixcal.serving.predictor import Predictor

# What `mixcal train --members` writes beside its members' folders.
MEMBERS = "members.json"


def add_ways(parser: argparse.ArgumentParser) -> None:
    """MC dropout or test-time augmentation; several runs need no option."""
    way = parser.add_mutually_exclusive_group()
    way.add_argument(
        "--mc-dropout", type=int, metavar="N", help="average N passes with dropout (usual: 10)"
    )
    way.add_argument(
        "--test-time", type=int, metavar="N", help="average with N augmented pictures (usual: 4)"
    )
    parser.add_argument(
        "--average",
        choices=("logits", "probs"),
        default="logits",
        help="what --test-time averages (default: logits, before rescaling)",
    )
    parser.add_argument(
        "--features", action="store_true", help="--split: keep the last layer's inputs, for PIECE"
    )
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn (default: 0)")


def way_of(options: argparse.Namespace, *, flips: bool) -> "Way":
    """The way asked for; `flips`: whether the model's pictures may be mirrored."""
    if options.mc_dropout is not None:
        from mixcal.predicting.mc_dropout import McDropout

        return McDropout(passes=options.mc_dropout, seed=options.seed)
    if options.test_time is not None:
        from mixcal.data.views.lens import Lens
        from mixcal.predicting.test_time import TestTime

        return TestTime(
            augmentations=options.test_time,
            average=options.average,
            lens=Lens(flip=flips),
            seed=options.seed,
        )
    from mixcal.predicting.single_pass import SINGLE_PASS

    return SINGLE_PASS


def split_words(words: list[Path]) -> tuple[list[Path], list[Path]]:
    """Models, of which the first word is one in any case, and pictures."""
    first = 1
    while first < len(words) and is_model(words[first]):
        first += 1
    return words[:first], words[first:]


def is_model(path: Path) -> bool:
    """Whether it is a run, a bundle, or a folder of members."""
    return any((path / name).is_file() for name in ("recipe.toml", "bundle.json", MEMBERS))


def members_of(path: Path) -> list[Path]:
    """The runs of an ensemble's folder; any other path is itself."""
    record = path / MEMBERS
    if not record.is_file():
        return [path]
    try:
        names = json.loads(record.read_text())["members"]
        return [path / str(name) for name in names]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(
            f"{record} cannot be read ({type(error).__name__}: {error}); name the runs instead."
        ) from None


def rescaler_of_ensemble(options: argparse.Namespace, words: list[Path]) -> "Rescaler | None":
    """What was fitted on the validation predictions of all members together, if anything was."""
    if options.rescaler or options.weights or options.mc_dropout is not None:
        return None
    if len(words) != 1 or not (words[0] / MEMBERS).is_file():
        return None
    from mixcal.judging.rescaling.saving import load_rescaler

    found = sorted((words[0] / "rescaling").glob("*.json"))
    return load_rescaler(found[0]) if found else None


def predictor_of(options: argparse.Namespace, words: list[Path]) -> "Predictor | Ensemble":
    """The model, or all of them as one."""
    from mixcal.predicting.device import pick_device
    from mixcal.serving.ensemble import Ensemble
    from mixcal.serving.predictor import Predictor

    if options.features:
        raise BadInput("--features is for files of predictions; give --split test with it.")
    models = [member for word in words for member in members_of(word)]
    # A run's rescaler was fitted on logits of single passes: those of test-time augmentation are
    # of their kind, means of probabilities are not.
    rescales = options.mc_dropout is None and len(models) == 1
    bundles = [bundle_at(options, path, rescales=rescales) for path in models]
    device = str(pick_device(options.device, asked="--device"))
    made = [
        Predictor.of(
            bundle, device=device, trusted=trusted, way=way_of(options, flips=bundle.flips)
        )
        for bundle, trusted in bundles
    ]
    if options.mc_dropout is not None:
        from mixcal.predicting.mc_dropout import dropout_layers

        # Before the first row is written.
        for predictor in made:
            dropout_layers(predictor.network)
    if len(made) == 1:
        return made[0]
    return Ensemble(tuple(made), rescaler=rescaler_of_ensemble(options, words))


def bundle_at(
    options: argparse.Namespace, path: Path, *, rescales: bool
) -> tuple["Bundle", list[str]]:
    """What a bundle or a run holds, and whose code may build its network."""
    from mixcal.serving.bundle import Bundle, is_bundle

    trusted = list(options.trust)
    if is_bundle(path):
        if options.weights or options.rescaler:
            raise BadInput(
                "A bundle has one set of weights; --weights and --rescaler are for runs."
            )
        bundle = Bundle.load(path)
    else:
        from mixcal.exporting import bundle_of

        bundle = bundle_of(path, weights=options.weights, rescaler=options.rescaler)
        # Who trained the run had that code imported already.
        trusted.append(bundle.factory.split(".")[0].partition(":")[0])
    if bundle.rescaler is not None and not rescales and not options.rescaler:
        bundle = replace(bundle, rescaler=None)
    return bundle, trusted
