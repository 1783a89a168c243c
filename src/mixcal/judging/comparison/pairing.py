"""Pairing: the same samples in the same order, found by their ids, or a sentence that says why not.

Labels are compared as class names, so that the classes may stand in another order. A file that does
not name its classes calls them 0, 1, 2 …; they then stand for those of the others, in order.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Shaped

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions
from mixcal.judging.comparison.contenders import Contender


def paired(contenders: Sequence[Contender], baseline: Contender) -> list[Contender]:
    """All contenders in the order of the baseline's samples."""
    return [one if one is baseline else _in_order(one, baseline) for one in contenders]


def share_samples(contenders: Sequence[Contender]) -> bool:
    """Whether all are on the same samples of the same classes."""
    first, *others = contenders
    try:
        for one in others:
            _in_order(one, first)
    except BadInput:
        return False
    return True


def check_alike(one: Contender, baseline: Contender) -> None:
    """Refuse another split or other classes; what remains may be compared, paired or not."""
    ours, theirs = one.judged.predictions, baseline.judged.predictions
    if ours.split != theirs.split:
        raise BadInput(
            f"{one.name} holds {ours.split} predictions and {baseline.name} {theirs.split} ones; "
            "compare predictions on one split."
        )
    _class_names(one, baseline)


def _in_order(one: Contender, baseline: Contender) -> Contender:
    check_alike(one, baseline)
    ours, theirs = _ids(one), _ids(baseline)
    order = np.argsort(ours, kind="stable")
    place = np.minimum(np.searchsorted(ours[order], theirs), len(ours) - 1)
    if len(ours) != len(theirs) or (ours[order[place]] != theirs).any():
        raise _different_samples(one, baseline, ours, theirs)
    index = order[place]
    predictions = one.judged.predictions.take(index)
    _check_labels(predictions, one, baseline)
    if (index == np.arange(len(index))).all():
        return one
    judged = replace(one.judged, predictions=predictions)
    return replace(one, judged=judged, order=one.order[index])


def _ids(one: Contender) -> Shaped[np.ndarray, " n"]:
    """As text, each once."""
    ids = one.judged.predictions.ids.astype(str)
    ordered = np.sort(ids)
    twice = np.flatnonzero(ordered[1:] == ordered[:-1])
    if twice.size:
        raise BadInput(
            f"{one.name}: the id {str(ordered[twice[0]])!r} occurs more than once; give every "
            "sample an id of its own."
        )
    return ids


def _different_samples(
    one: Contender,
    baseline: Contender,
    ours: Shaped[np.ndarray, " n"],
    theirs: Shaped[np.ndarray, " m"],
) -> BadInput:
    parts = []
    for name, ids, other, others in (
        (one.name, ours, baseline.name, theirs),
        (baseline.name, theirs, one.name, ours),
    ):
        alone = ids[~np.isin(ids, others)]
        if alone.size:
            parts.append(
                f"{alone.size:,} of the {ids.size:,} of {name} are not in {other} "
                f"(the first: {str(alone[0])!r})"
            )
    return BadInput(
        f"{one.name} and {baseline.name} are on different samples: {' and '.join(parts)}; predict "
        "the same samples with both, under the same ids."
    )


def _class_names(one: Contender, baseline: Contender) -> list[str]:
    """The names of one's classes as the baseline calls them."""
    ours, theirs = one.judged.predictions.classes, baseline.judged.predictions.classes
    if set(ours) == set(theirs):
        return list(ours)
    unnamed = tuple(str(k) for k in range(len(ours)))
    if len(ours) == len(theirs) and unnamed in (ours, theirs):
        return list(theirs)
    if len(ours) != len(theirs):
        raise BadInput(
            f"{one.name} has {len(ours)} classes and {baseline.name} {len(theirs)}; compare "
            "predictions of the same classes."
        )
    ours_only = next(name for name in ours if name not in theirs)
    theirs_only = next(name for name in theirs if name not in ours)
    raise BadInput(
        f"{ours_only!r} is a class of {one.name} but not of {baseline.name}, and {theirs_only!r} "
        "the other way round; compare predictions of the same classes."
    )


def _check_labels(predictions: Predictions, one: Contender, baseline: Contender) -> None:
    names = np.array(_class_names(one, baseline))[predictions.labels]
    theirs = baseline.judged.predictions
    expected = np.array(theirs.classes)[theirs.labels]
    if (names == expected).all():
        return
    row = int((names != expected).argmax())
    raise BadInput(
        f"sample {str(theirs.ids[row])!r} is labeled {str(names[row])!r} by {one.name} and "
        f"{str(expected[row])!r} by {baseline.name}; they are not the same data."
    )
