"""Fitting and judging apart: what is fitted on the samples it is judged by judges itself."""

import numpy as np
from jaxtyping import Int

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions, softmax

# Digits of probability that float32 files of the same samples agree on, logits or not.
DIGITS = 6
# Of the smaller file's samples; fewer agree by chance where classes are few.
MOST_SHARED = 0.2
# Rows at a time.
BLOCK = 1 << 12


def check_held_out(predictions: Predictions, *, what: str, itself: str) -> None:
    """Refuse predictions of the test split, however it is written."""
    if predictions.split.strip().casefold() == "test":
        raise BadInput(
            f"{predictions.source or 'The predictions'}: the split is test, and {what} fitted "
            f"there would judge {itself}; fit {'it' if itself == 'itself' else 'them'} on "
            "validation predictions."
        )


def check_apart(fit: Predictions, apply: Predictions) -> None:
    """Refuse other classes, and the same samples twice, in any order and some of them missing.

    Samples are told by their probabilities and label. Their ids do not tell: in a run folder these
    are row numbers of each split's own file.
    """
    if fit.scores.shape[1] != apply.scores.shape[1]:
        raise BadInput(
            f"{fit.source} has {fit.scores.shape[1]} classes and {apply.source} "
            f"{apply.scores.shape[1]}; give predictions of one classifier."
        )
    same = len(fit) == len(apply) and np.array_equal(fit.scores, apply.scores)
    shared = 1.0 if same else shared_fraction(fit, apply)
    if shared > MOST_SHARED:
        raise BadInput(
            f"{fit.source} and {apply.source} hold the same samples ({100 * shared:.0f} % of the "
            "smaller file); fitted there, the rescaler would judge itself. Give held-out "
            "validation predictions to --fit."
        )


def shared_fraction(first: Predictions, second: Predictions) -> float:
    """Which share of the samples of the smaller file the other one holds, too.

    Only samples that are one of a kind in their file count: many are sure to all digits.
    """
    ours, theirs = _one_of_a_kind(first), _one_of_a_kind(second)
    fewer = min(len(ours), len(theirs))
    return len(np.intersect1d(ours, theirs, assume_unique=True)) / fewer if fewer else 0.0


def _one_of_a_kind(predictions: Predictions) -> Int[np.ndarray, " m"]:
    """A number for the probabilities and label of each sample whose number occurs once."""
    n, k = predictions.scores.shape
    weights = np.random.default_rng(0).integers(np.iinfo(np.int64).max, size=k + 1)
    numbers = predictions.labels.astype(np.int64) * weights[k]
    for start in range(0, n, BLOCK):
        scores = predictions.scores[start : start + BLOCK].astype(np.float64)
        probs = softmax(scores) if predictions.kind == "logits" else scores
        # Whole numbers wrap around, and so hash.
        numbers[start : start + BLOCK] += np.rint(probs * 10**DIGITS).astype(np.int64) @ weights[:k]
    found, counts = np.unique(numbers, return_counts=True)
    return found[counts == 1]
