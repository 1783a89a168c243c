"""Sheets of samples worth a look: confident mistakes, hesitant hits, the hardest of training.

A sheet shows pictures where somebody can look them up (`Look`) and names and numbers in any case.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt8

from mixcal.core.margins import Margins
from mixcal.core.predictions import Predictions
from mixcal.core.pseudo_mistakes import PseudoMistakes
from mixcal.judging.report.judged import Judged
from mixcal.judging.report.thumbnails import data_uris
from mixcal.judging.samples import Samples

# Pictures of a split by position within it, uint8.
Look = Callable[[Int[np.ndarray, " m"]], UInt8[np.ndarray, "m c h w"]]
SHOWN = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """One sample of a sheet: its picture (or none), what it is called, and lines about it."""

    name: str
    picture: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """Samples with one thing in common."""

    title: str
    note: str
    exhibits: tuple[Exhibit, ...]


def most_confident_mistakes(
    confidence: Float[np.ndarray, " n"], right: np.ndarray, count: int = SHOWN
) -> Int[np.ndarray, " _"]:
    """Positions of the wrong predictions, most confident first."""
    wrong = np.flatnonzero(~right.astype(bool))
    return wrong[np.argsort(-confidence[wrong], kind="stable")[:count]]


def least_confident_hits(
    confidence: Float[np.ndarray, " n"], right: np.ndarray, count: int = SHOWN
) -> Int[np.ndarray, " _"]:
    """Positions of the right predictions, least confident first."""
    hits = np.flatnonzero(right.astype(bool))
    return hits[np.argsort(confidence[hits], kind="stable")[:count]]


def sheets_of(judged: Judged, looks: Mapping[str, Look]) -> list[Sheet]:
    """Confident mistakes and hesitant hits of one set of predictions."""
    predictions = judged.predictions
    samples = Samples.of(predictions)
    look = looks.get(predictions.split)
    found = (
        (
            "Most confident mistakes",
            "Wrong, and sure of it: label errors, look-alikes, or what training never saw.",
            most_confident_mistakes(samples.confidence, samples.right),
        ),
        (
            "Least confident hits",
            "Right, but hardly sure: where another answer was close.",
            least_confident_hits(samples.confidence, samples.right),
        ),
    )
    return [
        Sheet(title=title, note=note, exhibits=_exhibits(predictions, samples, index, look))
        for title, note, index in found
        if len(index)
    ]


def _exhibits(
    predictions: Predictions, samples: Samples, index: Int[np.ndarray, " m"], look: Look | None
) -> tuple[Exhibit, ...]:
    predicted = predictions.scores[index].argmax(1)
    pictures = pictures_at(index, look)
    return tuple(
        Exhibit(
            name=str(predictions.ids[i]),
            picture=picture,
            lines=(
                f"says {predictions.classes[said]} at {100 * samples.confidence[i]:.1f}\u00a0%",
                f"is {predictions.classes[predictions.labels[i]]}",
            ),
        )
        for i, said, picture in zip(index, predicted, pictures, strict=True)
    )


def hardest_sheets(margins: Margins, looks: Mapping[str, Look], count: int = SHOWN) -> list[Sheet]:
    """The samples of each training split with the smallest average margin."""
    found = []
    for split in ("labeled", "unlabeled"):
        index = margins.hardest(split, count)
        if not len(index):
            continue
        # A split's samples stand together and in its own order.
        within = index - int(np.flatnonzero(margins.split == split)[0])
        pictures = pictures_at(within, looks.get(split))
        meaning = "label" if split == "labeled" else "pseudo-label"
        found.append(
            Sheet(
                title=f"Hardest {split} samples",
                note=f"Smallest average margin of the {meaning} over the run; a negative one means "
                + (
                    "the network kept another class ahead: the label may be wrong."
                    if split == "labeled"
                    else "its answers kept changing."
                ),
                exhibits=tuple(
                    Exhibit(
                        name=str(margins.ids[i]),
                        picture=picture,
                        lines=(
                            f"{meaning} {margins.classes[margins.label[i]]}",
                            f"margin {margins.margin[i]:.2f}",
                        ),
                    )
                    for i, picture in zip(index, pictures, strict=True)
                ),
            )
        )
    return found


def pseudo_sheets(
    mistakes: PseudoMistakes, looks: Mapping[str, Look], count: int = SHOWN
) -> list[Sheet]:
    """The unlabeled samples whose pseudo-labels are wrong, surest first; none if none is wrong."""
    if not len(mistakes):
        return []
    pictures = pictures_at(mistakes.position[:count], looks.get("unlabeled"))
    return [
        Sheet(
            title="Most confident wrong pseudo-labels",
            note=f"At the end of training {mistakes.wrong:,} of {mistakes.asked:,} unlabeled "
            "samples whose labels are known, and hidden from training, had a wrong one.",
            exhibits=tuple(
                Exhibit(
                    name=str(mistakes.ids[i]),
                    picture=picture,
                    lines=(
                        f"says {mistakes.classes[mistakes.said[i]]} at "
                        f"{100 * mistakes.confidence[i]:.1f}\u00a0%",
                        f"is {mistakes.classes[mistakes.label[i]]}",
                    ),
                )
                for i, picture in enumerate(pictures)
            ),
        )
    ]


def pictures_at(index: Int[np.ndarray, " m"], look: Look | None) -> Sequence[str]:
    """The thumbnails at these positions; empty texts where nobody can look."""
    return [""] * len(index) if look is None or not len(index) else data_uris(look(index))
