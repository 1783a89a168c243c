"""The end of a run: the test data are read, once, and judged."""

import json
import statistics
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from torch import nn

from mixcal.build import Prepared
from mixcal.core.errors import BadInput
from mixcal.core.margins import Margins
from mixcal.core.predictions import Predictions, Split
from mixcal.core.protocols import Ledger
from mixcal.core.pseudo_mistakes import PseudoMistakes
from mixcal.data.pool import Pool
from mixcal.data.splits import Splits
from mixcal.judging.further import long_tail
from mixcal.judging.rescaling.held_out import Attempt, cross_fitted, fit_if_it_helps
from mixcal.judging.rescaling.registry import needs_features, rescaled
from mixcal.judging.rescaling.saving import save_rescaler
from mixcal.judging.summary import summarized
from mixcal.predicting.single_pass import SINGLE_PASS, predict
from mixcal.predicting.way import Way
from mixcal.recipe import Recipe
from mixcal.training.checkpoints import Damaged, read_tensors
from mixcal.training.disk import write_atomically, write_json
from mixcal.training.evaluation import evaluated
from mixcal.training.folder import RunFolder
from mixcal.training.log import rounded
from mixcal.training.loop import Machine

LAST_EVALUATIONS = 20
# So many unlabeled samples are asked at most for the sheet of wrong pseudo-labels.
PSEUDO_LABELS = 10_000


def predictions_on(
    prepared: Prepared,
    network: nn.Module,
    split: Split,
    *,
    features: bool = False,
    way: Way = SINGLE_PASS,
) -> Predictions:
    """The predictions of a network on one split of the run's data."""
    splits, source = prepared.splits, prepared.source
    pool: Pool | None = source.train
    index = splits.labeled
    if split == "test":
        pool, index = source.test, splits.test
    elif split == "validation":
        index = splits.validation
        pool = source.validation if splits.validation_from == "source" else source.train
    if pool is None or not len(index):
        raise BadInput(f"The run has no {split} data.")
    found = predict(
        network,
        pool,
        index,
        view=prepared.views.plain,
        classes=source.classes,
        split=split,
        source=source.name,
        features=features,
        way=way,
    )
    return replace(found, class_counts=np.array(prepared.facts.class_counts))


def conclude(
    recipe: Recipe, prepared: Prepared, machine: Machine, folder: RunFolder
) -> dict[str, Any]:
    """Read the test data, once: predictions of the final weights, rescaled, judged."""
    ending = Ending(recipe, prepared, folder)
    networks = {"raw": machine.network}
    if machine.average is not None:
        networks = {"averaged": machine.average.current(machine.network), **networks}
    for weights, network in networks.items():
        ending.judge(network, weights, f"{weights}, last")
    if recipe.method.algorithm is not None:
        mistakes = pseudo_mistakes(prepared, next(iter(networks.values())))
        if mistakes is not None:
            write_atomically(folder.path / "pseudo-mistakes.npz", mistakes.save)
    medians = median_of_last(folder)
    remarks = []
    if len(prepared.splits.test) and any(name.startswith("validation") for name in medians):
        try:
            kept = read_tensors(folder.best)
        except Damaged as error:
            remarks.append(f"The weights that were best by validation are not judged: {error}")
            warnings.warn(remarks[-1], stacklevel=2)
        else:
            best = next(iter(networks.values()))
            best.load_state_dict(dict(kept.tensors))
            ending.judge(best, "best", "best by validation")
    if machine.objective.calibrator.ledgers:
        margins = gathered_margins(prepared, machine.objective.calibrator.ledgers)
        write_atomically(folder.path / "margins.npz", margins.save)
    judgement = {
        "recipe": recipe.fingerprint,
        "family": recipe.family,
        "seed": recipe.method.seed,
        "splits": prepared.splits.fingerprint,
        "label_budget": label_budget(prepared.splits),
        "watched_test": recipe.running.watch_test,
        "judged": ending.judged,
        "numbers": ending.numbers,
        "median_of_last_20": medians,
        "remarks": [
            *prepared.source.remarks,
            *machine.objective.calibrator.remarks,
            *validation_use(machine),
            *remarks,
        ],
        "rescaling": ending.remarks,
    }
    write_json(folder.judgement, judgement)
    return judgement


@dataclass(frozen=True, slots=True)
class Ending:
    """What the end of a run collects: judgements by split and weights, remarks by weights."""

    recipe: Recipe
    prepared: Prepared
    folder: RunFolder
    judged: dict[str, Any] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)

    def judge(self, network: nn.Module, weights: str, label: str) -> None:
        """Predict, write and judge all splits, before and after rescaling."""
        name = self.recipe.running.rescaler
        features = name != "none" and needs_features(name)
        splits = self.prepared.splits
        attempt = Attempt(rescaler=None)
        if len(splits.validation):
            validation = predictions_on(self.prepared, network, "validation", features=features)
            write_atomically(self.folder.predictions("validation", weights), validation.save)
            # The best by validation would look better there than they are.
            if weights != "best":
                self._note(validation, label)
            if name != "none":
                attempt = fit_if_it_helps(name, validation)
                self.remarks[label] = attempt.remark
        if len(splits.test):
            test = predictions_on(self.prepared, network, "test", features=features)
            write_atomically(self.folder.predictions("test", weights), test.save)
            self._note(test, label)
            if attempt.rescaler is not None:
                after = rescaled(attempt.rescaler, test)
                write_atomically(self.folder.rescaled("test", name, weights), after.save)
                self._note(after, f"{label}, {name}")
        elif attempt.rescaler is not None:
            # Without test data only samples that a fit did not see can show what it does.
            crossed = cross_fitted(name, validation, {})
            after = replace(rescaled(attempt.rescaler, validation), scores=crossed)
            self._note(after, f"{label}, {name} (cross-fitted)")
        if attempt.rescaler is not None:
            save = partial(save_rescaler, attempt.rescaler)
            write_atomically(self.folder.rescaler(name, weights), save)

    def _note(self, predictions: Predictions, label: str) -> None:
        note(predictions, label, judged=self.judged, numbers=self.numbers)


def note(
    predictions: Predictions, label: str, *, judged: dict[str, Any], numbers: dict[str, Any]
) -> None:
    """Judge, and write it down under split and label."""
    found = summarized(predictions)
    if predictions.split == "test":
        found |= long_tail(predictions)
    judged.setdefault(predictions.split, {})[label] = found
    numbers.setdefault(predictions.split, {})[label] = rounded(evaluated(predictions))


def note_rescaled(folder: RunFolder, predictions: Predictions, label: str) -> None:
    """Add to a finished run's judgement what a rescaler fitted later makes of its predictions."""
    judgement = folder.read_json(folder.judgement)
    note(predictions, label, judged=judgement["judged"], numbers=judgement["numbers"])
    write_json(folder.judgement, judgement)


def validation_use(machine: Machine) -> list[str]:
    """A sentence where training itself has seen the validation samples a rescaler is fitted on."""
    calibrator = machine.objective.calibrator
    if "validation" in calibrator.streams:
        how = "trained on"
    elif calibrator.reviews:
        how = "reviewed"
    else:
        return []
    return [
        f"A calibrator {how} the validation samples, so a rescaler fitted there may take the "
        "network for more certain than it is on new ones."
    ]


def gathered_margins(prepared: Prepared, ledgers: Mapping[str, Ledger]) -> Margins:
    """What the run remembers of every sample, labeled ones first."""
    pool, splits = prepared.source.train, prepared.splits
    parts = []
    for split, index in (("labeled", splits.labeled), ("unlabeled", splits.unlabeled)):
        if split in ledgers:
            labels, margins, visits = (part.numpy() for part in ledgers[split].summary())
            # A labeled sample's margin is that of its own label.
            labels = pool.labels[index] if split == "labeled" else labels
            parts.append(
                Margins(
                    ids=np.asarray(pool.ids[index]),
                    split=np.full(len(index), split),
                    label=labels,
                    margin=margins,
                    visits=visits,
                    classes=prepared.source.classes,
                )
            )
    return sum(parts[1:], start=parts[0])


def pseudo_mistakes(prepared: Prepared, network: nn.Module) -> PseudoMistakes | None:
    """Where the final network is wrong about unlabeled samples whose labels are known and hidden.

    They are spread evenly over the pool; None where nobody knows any label.
    """
    source, splits = prepared.source, prepared.splits
    unlabeled = splits.unlabeled
    # Labeled samples may be among the unlabeled ones, too: their labels are hidden from nobody.
    seen = np.isin(unlabeled, splits.labeled)
    known = np.flatnonzero((source.train.labels[unlabeled] >= 0) & ~seen)
    if not len(known):
        return None
    some = known[np.linspace(0, len(known) - 1, min(len(known), PSEUDO_LABELS)).astype(np.int64)]
    found = predict(
        network,
        source.train,
        unlabeled[some],
        view=prepared.views.plain,
        classes=source.classes,
        split="unlabeled",
        source=source.name,
    )
    return PseudoMistakes.of(found, some)


def label_budget(splits: Splits) -> dict[str, Any]:
    """The labels the run saw before the test, and where validation came from."""
    return {
        "labeled": len(splits.labeled),
        "validation": len(splits.validation),
        "validation_from": splits.validation_from,
        "total": splits.label_budget,
    }


def median_of_last(folder: RunFolder) -> dict[str, dict[str, float]]:
    """The median of the last twenty evaluations logged, by split and weights."""
    lines = [json.loads(line) for line in folder.log.read_text().splitlines()]
    found: dict[str, list[dict[str, float]]] = {}
    for line in lines:
        if "split" in line:
            found.setdefault(f"{line['split']}, {line['weights']}", []).append(line)
    return {
        name: {
            key: statistics.median(record[key] for record in records[-LAST_EVALUATIONS:])
            for key in ("error", "ece_15", "ece_10", "nll")
        }
        for name, records in found.items()
    }
