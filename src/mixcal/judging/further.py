"""What else can be said where the files hold more: top-k, parts of the Brier score, people,
foreign samples, long tails, proximity."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from mixcal.core.errors import BadInput
from mixcal.core.margins import Margins
from mixcal.core.predictions import Predictions
from mixcal.core.pseudo_mistakes import PseudoMistakes
from mixcal.judging.metrics.brier_parts import brier_intervals
from mixcal.judging.metrics.class_groups import Group, class_groups, of_every_class, of_groups
from mixcal.judging.metrics.human import against_people
from mixcal.judging.metrics.intervals import share_interval
from mixcal.judging.metrics.out_of_distribution import SCORES, Detection, foreignness
from mixcal.judging.metrics.partition import Partition
from mixcal.judging.metrics.proximity import piece, proximity
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.metrics.reliability_intervals import error_interval
from mixcal.judging.metrics.scores import top_k_right
from mixcal.judging.samples import Samples

# Neighbors are looked up among this many samples at most.
REFERENCE = 10_000


def top_k(predictions: Predictions, *, k: int, level: float = 0.95) -> dict[str, Any]:
    """Top-k accuracy."""
    classes = predictions.scores.shape[1]
    if not 1 <= k <= classes:
        raise BadInput(f"top-{k} was asked for with {classes} classes; give 1 to {classes}.")
    hits = top_k_right(predictions.scores, predictions.labels, k=k)
    return asdict(share_interval(int(hits.sum()), len(hits), level=level))


def brier_parts(samples: Samples, *, bins: int = 15, level: float = 0.95) -> dict[str, Any]:
    """Murphy's parts of the top-label Brier score."""
    made = brier_intervals(samples.confidence, samples.right, bins=bins, level=level)
    return {name: asdict(part) for name, part in made.items()}


def positive_class(
    predictions: Predictions, *, bins: int | Partition = 15, level: float = 0.95
) -> dict[str, Any] | None:
    """With two classes, the ECE of the second one's probability, which some packages mean."""
    if predictions.scores.shape[1] != 2:
        return None
    sums = Reliability.of_confidence(predictions.probs[:, 1], predictions.labels == 1, bins=bins)
    return asdict(error_interval(sums, level=level))


def people(predictions: Predictions, *, bins: int = 15, level: float = 0.95) -> dict[str, Any]:
    """Agreement with label distributions, and the curve of both."""
    found = against_people(predictions, bins=bins, level=level)
    probability, share = found.reliability.curve()
    return {
        "n": found.n,
        "cross_entropy": asdict(found.cross_entropy),
        "divergence": asdict(found.divergence),
        "total_variation": asdict(found.total_variation),
        "calibration_error": asdict(found.calibration_error),
        "curve": {
            "counts": found.reliability.counts.tolist(),
            "probability": _finite(probability),
            "share": _finite(share),
        },
    }


def foreign(
    familiar: Predictions, others: Mapping[str, Predictions], *, level: float = 0.95
) -> dict[str, Any]:
    """Per file of foreign samples and per score, how well they are told apart."""
    found: dict[str, Any] = {}
    for name, predictions in others.items():
        if predictions.scores.shape[1] != familiar.scores.shape[1]:
            raise BadInput(
                f"{name} has {predictions.scores.shape[1]} classes, "
                f"{familiar.source or 'the predictions'} {familiar.scores.shape[1]}; "
                "use one network for both."
            )
        logits = familiar.kind == predictions.kind == "logits"
        scores = [score for score, needs_logits in SCORES.items() if logits or not needs_logits]
        found[name] = {
            score: asdict(
                Detection.of(
                    foreignness(familiar, score), foreignness(predictions, score), level=level
                )
            )
            for score in scores
        }
    return found


def groups(
    predictions: Predictions,
    samples: Samples,
    *,
    cuts: tuple[int, int] | None = None,
    bins: int = 15,
    level: float = 0.95,
) -> list[dict[str, Any]] | None:
    """Head, medium and tail classes, where the file holds class counts that differ."""
    counts = predictions.class_counts
    if counts is None and cuts is not None:
        raise BadInput(
            f"{predictions.source or 'The predictions'}: no `class_counts` say which classes are "
            "frequent, so there is nothing to cut; add that array, or leave --cuts out."
        )
    if counts is None or (cuts is None and (len(counts) < 3 or counts.min() == counts.max())):
        return None
    chosen = class_groups(counts, cuts=cuts)
    return _rows(of_groups(samples, predictions.labels, chosen, bins=bins, level=level))


def every_class(
    predictions: Predictions, samples: Samples, *, bins: int = 15, level: float = 0.95
) -> list[dict[str, Any]]:
    """Error, ECE and mean confidence of the samples of each class."""
    return _rows(
        of_every_class(samples, predictions.labels, predictions.classes, bins=bins, level=level)
    )


def long_tail(predictions: Predictions) -> dict[str, Any]:
    """Groups of classes and every class, where some class had half as many samples as another."""
    counts = predictions.class_counts
    if counts is None or len(counts) < 3 or counts.max() < 2 * counts.min():
        return {}
    samples = Samples.of(predictions)
    return {
        "groups": groups(predictions, samples),
        "per_class": every_class(predictions, samples),
    }


def near_and_far(
    predictions: Predictions, samples: Samples, *, bins: int = 15, level: float = 0.95
) -> dict[str, Any] | None:
    """PIECE in both variants, where the file holds features; neighbors are the other samples."""
    if predictions.features is None:
        return None
    features = predictions.features[: min(len(predictions), REFERENCE)]
    if not np.isfinite(features).all():
        where = predictions.source or "the predictions"
        raise BadInput(f"{where}: the features hold NaN or infinity; repair or leave them out.")
    confidence, right = samples.confidence[: len(features)], samples.right[: len(features)]
    paper = proximity(features, features, same=True)
    official = proximity(features, features, same=True, variant="official")
    return {
        "n": len(features),
        "paper": asdict(error_interval(piece(confidence, right, paper, bins=bins), level=level)),
        "official": asdict(
            error_interval(
                piece(confidence, right, official, bins=Partition.equal(bins, "left")), level=level
            )
        ),
    }


def hardest(margins: Margins, *, count: int = 10) -> dict[str, list[dict[str, Any]]]:
    """Per split, the samples with the smallest margins over training."""
    found: dict[str, list[dict[str, Any]]] = {}
    for split in dict.fromkeys(str(name) for name in margins.split.tolist()):
        found[split] = [_remembered(margins, row) for row in margins.hardest(split, count).tolist()]
    return found


def likely_mislabeled(margins: Margins) -> dict[str, Any]:
    """The labeled samples of which the network kept another class ahead, on average over the run,
    smallest margins first."""
    seen = margins.hardest("labeled", len(margins))
    samples = [_remembered(margins, row) for row in seen[margins.margin[seen] < 0].tolist()]
    return {"n": len(seen), "negative": len(samples), "samples": samples}


def _remembered(margins: Margins, row: int) -> dict[str, Any]:
    label = margins.label[row]
    return {
        "id": margins.ids[row].item(),
        "label": margins.classes[label] if label >= 0 else None,
        "margin": float(margins.margin[row]),
        "visits": int(margins.visits[row]),
    }


def wrong_pseudo_labels(mistakes: PseudoMistakes, *, count: int = 10) -> dict[str, Any]:
    """How many pseudo-labels were wrong at the end, and the most confident of these."""
    rows = range(min(count, len(mistakes)))
    return {
        "n": mistakes.asked,
        "wrong": mistakes.wrong,
        "most_confident": [
            {
                "id": mistakes.ids[row].item(),
                "says": mistakes.classes[mistakes.said[row]],
                "label": mistakes.classes[mistakes.label[row]],
                "confidence": float(mistakes.confidence[row]),
            }
            for row in rows
        ],
    }


def with_people(predictions: Predictions, shares: Float[np.ndarray, "m k"]) -> Predictions:
    """The predictions with what people say: row by row, or by number where ids are numbers."""
    where = predictions.source or "the predictions"
    if shares.shape[1] != predictions.scores.shape[1]:
        raise BadInput(
            f"people chose among {shares.shape[1]} classes, {where} has "
            f"{predictions.scores.shape[1]}; give counts of the same classes."
        )
    if len(shares) != len(predictions):
        shares = shares[_numbers(predictions, len(shares))]
    return replace(predictions, label_distributions=shares)


def _numbers(predictions: Predictions, rows: int) -> Int[np.ndarray, " n"]:
    ids = predictions.ids
    numbers = np.issubdtype(ids.dtype, np.integer)
    if not numbers or ids.min() < 0 or ids.max() >= rows:
        why = f"reach from {ids.min()} to {ids.max()}" if numbers else "are no row numbers"
        raise BadInput(
            f"{rows} rows of human labels do not fit {len(predictions)} predictions whose ids "
            f"{why}; give one row a prediction, or ids that are row numbers."
        )
    return ids.astype(np.int64)


def _rows(found: list[Group]) -> list[dict[str, Any]]:
    return [asdict(group) for group in found]


def _finite(values: Float[np.ndarray, " m"]) -> list[float | None]:
    return [None if np.isnan(value) else value for value in values.tolist()]
