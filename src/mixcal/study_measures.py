"""What a study keeps of a finished run beyond the numbers of every evaluation.

From the judgement: further metrics, and error and ECE of head, medium and tail classes. From the
final weights, where the study asks: the labeled rows (split "labeled"), agreement with people, and
by `mixcal probe` how foreign samples are told apart and what is said far away from the data:

    auroc_svhn, auroc_entropy_svhn      by winning score, by entropy
    confidence_svhn                     mean winning score of the foreign samples
    hull_accuracy_10, hull_confidence_10, hull_entropy_10      at distance 10

They stand beside the others of the same weights, before and after rescaling. And by `mixcal
predict`, with PIECE (`piece`, and its official variant), other ways of predicting, under names like
"raw, last, test-time-4, procal"; the usual way adds to what is there.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mixcal.core.errors import BadInput

if TYPE_CHECKING:
    from mixcal.core.predictions import Predictions
    from mixcal.exporting import Weights
    from mixcal.judging.metrics.out_of_distribution import Score

FURTHER = (
    *("adaptive_ece", "classwise_ece", "debiased_ece", "oe_weighted"),
    *("aurc", "confidence_auroc"),
)
GROUPS = ("error", "ece")
# As predictions say it that were made in the usual way.
SINGLE = "single-pass"
AREAS: Mapping[str, "Score"] = {"auroc": "max_softmax", "auroc_entropy": "entropy"}
Numbers = dict[str, dict[str, dict[str, float]]]


def with_further(judgement: Mapping[str, Any]) -> Numbers:
    """The numbers of a judgement by split and weights, with those its metrics add."""
    numbers: Numbers = {
        split: {label: dict(found) for label, found in some.items()}
        for split, some in judgement["numbers"].items()
    }
    for split, some in judgement.get("judged", {}).items():
        for label, found in some.items():
            target = numbers[split][label]
            target |= {
                name: _rounded(found["metrics"][name]["value"])
                for name in FURTHER
                if name in found["metrics"]
            }
            for group in found.get("groups") or ():
                target |= {
                    f"{metric}_{group['name']}": _rounded(group[metric]["value"])
                    for metric in GROUPS
                }
    return numbers


def measure(
    numbers: Numbers,
    folder: Path,
    *,
    probes: Sequence[str],
    humans: str,
    fit: bool,
    ways: Sequence[str] = (),
) -> None:
    """Ask the run's final weights, and put the answers among the numbers."""
    if not (probes or humans or fit or ways):
        return
    weights = "averaged" if "averaged, last" in numbers["test"] else "raw"
    familiar = _familiar(folder, weights)
    test = numbers["test"]
    for place, words in enumerate(probes):
        for label, found in _probed(folder, weights, words, place, familiar).items():
            test[label] |= found
    if humans:
        for label, predictions in familiar.items():
            test[label] |= _against_people(predictions, humans)
    for place, words in enumerate(ways):
        for label, found in _predicted(folder, weights, words, place).items():
            test[label] = test.get(label, {}) | found
    if fit:
        numbers["labeled"] = {f"{weights}, last": _fit(folder, weights)}


def _familiar(folder: Path, weights: str) -> dict[str, "Predictions"]:
    """The test predictions of these weights: as they are, and rescaled if there are such."""
    from mixcal.core.predictions import Predictions
    from mixcal.recipe import read_recipe
    from mixcal.training.folder import RunFolder

    run = RunFolder.open(folder)
    found = {f"{weights}, last": Predictions.load(run.predictions("test", weights))}
    name = read_recipe(run.recipe).running.rescaler
    after = run.rescaled("test", name, weights)
    if after.is_file():
        found[f"{weights}, last, {name}"] = Predictions.load(after)
    return found


def _probed(
    folder: Path, weights: str, words: str, place: int, familiar: Mapping[str, "Predictions"]
) -> dict[str, dict[str, float]]:
    """One probe's numbers, by label."""
    from mixcal.cli import main

    hull = "--hull" in words
    out = folder / "probes" / f"study-{place}.{'json' if hull else 'npz'}"
    out.parent.mkdir(exist_ok=True)
    asked = [*shlex.split(words), "--out", str(out), "--weights", weights, "--overwrite"]
    if main(["probe", str(folder), *asked]):
        raise BadInput(f"{folder}: the probe {words!r} failed; see what it says above.")
    return _walked(out, familiar) if hull else _told_apart(out, familiar)


def _predicted(folder: Path, weights: str, words: str, place: int) -> dict[str, dict[str, float]]:
    """The test data predicted in another way, with features; and rescaled, if the words say how.

    A rescaler is fitted on the run's own validation predictions first.
    """
    from mixcal.cli import main
    from mixcal.core.predictions import Predictions

    asked = shlex.split(words)
    rescaler = asked[asked.index("--rescaler") + 1] if "--rescaler" in asked else "none"
    out = folder / "ways" / f"study-{place}.npz"
    out.parent.mkdir(exist_ok=True)
    common = ["--weights", weights, "--overwrite"]
    if rescaler == "none":
        asked = [word for word in asked if word not in ("--rescaler", "none")]
    elif main(["rescale", str(folder), "--method", rescaler, *common]):
        raise BadInput(f"{folder}: {rescaler} cannot be fitted; see what is said above.")
    more = ["--split", "test", "--features", "--rescaler", rescaler, "--out", str(out)]
    if main(["predict", str(folder), *more, *common, *asked]):
        raise BadInput(f"{folder}: predicting by {words!r} failed; see what is said above.")
    files = [out, out.with_name(f"{out.stem}-{rescaler}.npz")]
    found = {}
    for predictions in (Predictions.load(file) for file in files if file.is_file()):
        notes = predictions.notes
        way = notes.get("way", SINGLE)
        parts = ["" if way == SINGLE else way, notes.get("rescaler", "")]
        found[", ".join([f"{weights}, last", *filter(None, parts)])] = _with_piece(predictions)
    return found


def _with_piece(predictions: "Predictions") -> dict[str, float]:
    """What every evaluation says, the ECE of equal mass, and PIECE."""
    from mixcal.judging.further import near_and_far
    from mixcal.judging.samples import Samples
    from mixcal.judging.summary import summarized
    from mixcal.training.evaluation import evaluated

    near = near_and_far(predictions, Samples.of(predictions)) or {}
    numbers = evaluated(predictions) | {
        "adaptive_ece": summarized(predictions)["metrics"]["adaptive_ece"]["value"],
        "piece": near["paper"]["value"],
        "piece_official": near["official"]["value"],
    }
    return {name: _rounded(value) for name, value in numbers.items()}


def _walked(path: Path, familiar: Mapping[str, "Predictions"]) -> dict[str, dict[str, float]]:
    """Means over directions at every whole power of ten."""
    from mixcal.judging.hull_walk import HullWalk

    walk = HullWalk.of(json.loads(path.read_text()), where=str(path))
    decades = [k for k, far in enumerate(walk.distances) if np.isclose(np.log10(far) % 1, 0)]
    # The network's own readings come first, then the rescaler's.
    return {
        label: {
            f"hull_{key}_{walk.distances[k]:g}": _rounded(float(values[:, k].mean()))
            for key, values in readings.items()
            for k in decades
        }
        for label, readings in zip(familiar, walk.readings.values(), strict=False)
    }


def _told_apart(path: Path, familiar: Mapping[str, "Predictions"]) -> dict[str, dict[str, float]]:
    """AUROC by two scores, and how sure the network is of what it cannot know."""
    from mixcal.judging.metrics.out_of_distribution import Detection, foreignness
    from mixcal.judging.reading import read_foreign

    found = {}
    for label, known in familiar.items():
        rescaler = label.split(", ")[2:]
        foreign = read_foreign(path.with_stem("-".join([path.stem, *rescaler])))
        name = foreign.source
        areas = {
            f"{prefix}_{name}": Detection.of(
                foreignness(known, score), foreignness(foreign, score)
            ).auroc.value
            for prefix, score in AREAS.items()
        }
        confidence = {f"confidence_{name}": float(foreign.probs.max(1).mean())}
        found[label] = {key: _rounded(value) for key, value in (areas | confidence).items()}
    return found


def _against_people(predictions: "Predictions", file: str) -> dict[str, float]:
    """Distances to what people say, and the calibration error of all classes' probabilities."""
    from mixcal.data.reading import data_folder
    from mixcal.judging import further
    from mixcal.judging.reading import read_shares

    seen = further.with_people(predictions, read_shares(data_folder("") / file))
    agreement = further.people(seen)
    names = ("cross_entropy", "divergence", "total_variation", "calibration_error")
    return {f"human_{name}": _rounded(agreement[name]["value"]) for name in names}


def _fit(folder: Path, weights: str) -> dict[str, float]:
    """How the final network does on the rows it was trained on, seen plainly."""
    from mixcal.commands.trained import trained_run
    from mixcal.conclusion import predictions_on
    from mixcal.training.evaluation import evaluated
    from mixcal.training.log import rounded

    chosen: Weights = "averaged" if weights == "averaged" else "raw"
    trained = trained_run(folder, weights=chosen, rescaler=None, device="cpu")
    return rounded(evaluated(predictions_on(trained.prepared, trained.network, "labeled")))


def _rounded(value: float) -> float:
    return round(float(value), 9)
