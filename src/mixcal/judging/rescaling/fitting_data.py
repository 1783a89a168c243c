"""What a rescaler may be fitted on, and in which pieces it is read."""

import math
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float, Int, Shaped

from mixcal.core.errors import BadInput
from mixcal.core.predictions import SUM_TOLERANCE, Predictions, check_labels, check_scores

# Scores handled at a time: what two working copies leave in a core's own cache.
BLOCK = 1 << 17
WHERE = "the data to fit on"
# In a few sure rows the smallest positive probability says little about what zero means.
HIGHEST_ZERO = math.log(1e-3)


class NoOptimum(UserWarning):
    """The data decide nothing: what is returned is a bound, or changes nothing."""


class TrueClassImpossible(UserWarning):
    """A true class has probability zero, which no rescaler can mend but by a guess."""


def logits_to_rescale(predictions: Predictions) -> Float[np.ndarray, "n k"]:
    """Logits, or logarithms of probabilities, of which zeros count as half the smallest positive.

    Probabilities rounded to four digits hold zeros by the thousand that mean "below 0.00005".
    """
    logits = predictions.logits
    if predictions.kind == "logits" or not np.isneginf(logits.min()):
        return logits
    smallest = float(logits[np.isfinite(logits)].min())
    return np.maximum(logits, min(smallest - math.log(2), HIGHEST_ZERO))


def warn_of_impossible(predictions: Predictions) -> None:
    """Where a true class has probability zero, the result hangs on what zero stands for."""
    own = predictions.scores[np.arange(len(predictions)), predictions.labels]
    if predictions.kind == "probs" and (count := int((own == 0).sum())):
        warnings.warn(
            f"{predictions.source or 'The predictions'}: the true class of {count:,} of "
            f"{len(own):,} samples has probability 0, which counts as half the smallest positive "
            "one; better give logits, or probabilities with more digits.",
            TrueClassImpossible,
            stacklevel=3,
        )


def blocks(n: int, k: int) -> Iterator[slice]:
    """Slices over n rows of k scores, each about BLOCK scores."""
    rows = max(1, BLOCK // k)
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))


def finite_logits(logits: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    """The logits, float32 at least, with −inf as far below the row's top as exp can tell from zero.

    Probabilities of exactly zero arrive here as −inf; they stand for "too small to write down".
    """
    wide = logits.astype(np.float32) if logits.dtype == np.float16 else logits
    if not any(np.isneginf(wide[part].min()) for part in blocks(*wide.shape)):
        return wide
    return np.maximum(wide, wide.max(1, keepdims=True) + np.log(np.finfo(wide.dtype).tiny))


def fitting_data(
    logits: Shaped[np.ndarray, "..."], labels: Shaped[np.ndarray, "..."]
) -> tuple[Float[np.ndarray, "n k"], Int[np.ndarray, " n"]]:
    """The arrays, once they are logits and labels as they must be; no copy where none is needed."""
    logits, labels = np.asarray(logits), np.asarray(labels)
    if logits.ndim != 2:
        raise BadInput(
            f"{WHERE}: logits have shape {logits.shape}; they must be samples by classes."
        )
    if not np.issubdtype(logits.dtype, np.floating):
        logits = logits.astype(np.float64)
    check_labels(labels, *logits.shape, where=WHERE)
    if min(logits.shape) == 0 or any(_suspicious(logits[p]) for p in blocks(*logits.shape)):
        check_scores(logits, "logits", where=WHERE)
    if logits.shape[1] < 2:
        raise BadInput(f"{WHERE}: logits have one column; a classifier needs two classes.")
    return finite_logits(logits), labels


def by_blocks(
    logits: Shaped[np.ndarray, "..."],
    classes: int,
    work: Callable[[Float[np.ndarray, "r k"]], Float[np.ndarray, "r k"]],
) -> Float[np.ndarray, "n k"]:
    """What `work` makes of float64 pieces of the logits, in the precision of the logits."""
    logits = logits_of(logits, classes)
    out = np.empty_like(logits)
    for part in blocks(*logits.shape):
        out[part] = work(finite_logits(logits[part]).astype(np.float64))
    return out


def logits_of(logits: Shaped[np.ndarray, "..."], classes: int) -> Float[np.ndarray, "n k"]:
    """Logits to be rescaled, float32 at least: of as many classes as were fitted on."""
    logits = np.asarray(logits)
    if logits.ndim != 2 or logits.shape[1] != classes:
        raise BadInput(
            f"The logits have shape {logits.shape} and the rescaler was fitted on {classes} "
            "classes; give samples by the same classes."
        )
    return logits.astype(np.result_type(logits.dtype, np.float32), copy=False)


def fold_of(labels: Int[np.ndarray, " n"], *, folds: int) -> Int[np.ndarray, " n"]:
    """Folds of about equal size, each class dealt out evenly."""
    fold = np.empty(len(labels), dtype=np.int64)
    fold[np.argsort(labels, kind="stable")] = np.arange(len(labels)) % folds
    return fold


def _suspicious(block: Float[np.ndarray, "n k"]) -> bool:
    """Whether a block must be looked at as a whole: something infinite, or like probabilities."""
    with np.errstate(invalid="ignore", over="ignore"):
        sums = block.sum(1)
    if not np.isfinite(sums).all():
        return True
    return bool((np.abs(sums - 1) <= SUM_TOLERANCE).all() and block.min() >= 0)
