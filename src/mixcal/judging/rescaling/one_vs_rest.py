"""One class against all others, for every class: what comes of it, made to sum to one."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from mixcal.core.predictions import softmax
from mixcal.judging.rescaling.fitting_data import blocks
from mixcal.judging.rescaling.odds import Odds

Column = Callable[[Odds, int], Float[np.ndarray, " n"]]


def from_log_probs(logits: Float[np.ndarray, "n k"], column: Column) -> Float[np.ndarray, "n k"]:
    """Probabilities in proportion to exp of the columns; never 0 / 0."""
    odds = Odds.of(logits)
    out = np.empty_like(logits)
    for c in range(out.shape[1]):
        out[:, c] = column(odds, c)
    for part in blocks(*out.shape):
        out[part] = softmax(out[part].astype(np.float64))
    return out


def from_probs(logits: Float[np.ndarray, "n k"], column: Column) -> Float[np.ndarray, "n k"]:
    """Probabilities in proportion to the columns; a row of zeros only stays as it was."""
    odds = Odds.of(logits)
    out = np.empty_like(logits)
    for c in range(out.shape[1]):
        out[:, c] = column(odds, c)
    for part in blocks(*out.shape):
        rows = out[part].astype(np.float64)
        empty = rows.sum(1) == 0
        rows[empty] = softmax(odds.logits[part][empty].astype(np.float64))
        out[part] = rows / rows.sum(1, keepdims=True)
    return out
