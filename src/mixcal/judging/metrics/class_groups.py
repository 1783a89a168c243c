"""Error and calibration of groups of classes: head, medium and tail of a long-tailed training set.

A group's samples are those whose true class is in it, so that its error is a balanced-test error.
The published cuts are 3 and 7 of CIFAR-10's classes, 36 and 71 (Noh et al., ICCV 2023) or 33 and 66
of CIFAR-100's. Ours, where no cuts are given: thirds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from mixcal.core.errors import BadInput
from mixcal.judging.metrics.intervals import Estimate, mean_interval, share_interval
from mixcal.judging.metrics.reliability import Reliability
from mixcal.judging.metrics.reliability_intervals import error_interval
from mixcal.judging.samples import Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What is true of the samples of some classes."""

    name: str
    classes: int
    n: int
    error: Estimate
    ece: Estimate
    mean_confidence: Estimate


def class_groups(
    counts: Int[np.ndarray, " k"], *, cuts: tuple[int, int] | None = None
) -> dict[str, Bool[np.ndarray, " k"]]:
    """Head, medium and tail by training samples; of equal counts the earlier class comes first."""
    k = len(counts)
    first, second = cuts if cuts is not None else (k // 3, k - k // 3)
    if not 0 < first < second < k:
        raise BadInput(
            f"the cuts {first},{second} do not part {k} classes in three; 0 < a < b < k."
        )
    rank = np.empty(k, dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(k)
    return {
        "head": rank < first,
        "medium": (rank >= first) & (rank < second),
        "tail": rank >= second,
    }


def of_groups(
    samples: Samples,
    labels: Int[np.ndarray, " n"],
    groups: Mapping[str, Bool[np.ndarray, " k"]],
    *,
    bins: int = 15,
    level: float = 0.95,
) -> list[Group]:
    """One `Group` each; a group without samples is left out."""
    found = []
    for name, inside in groups.items():
        chosen = samples.take(inside[labels])
        if not len(chosen):
            continue
        wrong, n = int((~chosen.right).sum()), len(chosen)
        confidence = chosen.confidence.astype(np.float64)
        sums = Reliability.of_confidence(confidence, chosen.right, bins=bins)
        found.append(
            Group(
                name=name,
                classes=int(inside.sum()),
                n=n,
                error=share_interval(wrong, n, level=level),
                ece=error_interval(sums, level=level),
                mean_confidence=mean_interval(confidence, level=level, lowest=0.0, highest=1.0),
            )
        )
    return found


def of_every_class(
    samples: Samples,
    labels: Int[np.ndarray, " n"],
    classes: Sequence[str],
    *,
    bins: int = 15,
    level: float = 0.95,
) -> list[Group]:
    """A group for each class that occurs."""
    alone = np.eye(len(classes), dtype=bool)
    groups = {name: alone[k] for k, name in enumerate(classes)}
    return of_groups(samples, labels, groups, bins=bins, level=level)
