"""Rescaling the confidence alone: the predicted label stays, the other classes share the rest."""

import numpy as np
from jaxtyping import Float

from mixcal.judging.rescaling.fitting_data import blocks
from mixcal.judging.rescaling.odds import Odds

# How far the predicted class must stand above all others; float32 still sees it.
MARGIN = 1e-6


def with_confidence(odds: Odds, confidence: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n k"]:
    """Probabilities with these confidences in the predicted classes.

    The others keep their proportions. Where one of them would overtake, it is cut to just below the
    confidence and what is cut is spread over the rest; no confidence is below 1 / k. So the label
    that was rescaled is the one that is predicted, and the accuracy does not move.
    """
    n, k = odds.logits.shape
    out = np.empty_like(odds.logits)
    lowest = (1 + 2 * MARGIN) / k
    for part in blocks(n, k):
        rows = np.arange(part.stop - part.start)
        top = odds.top[part]
        wanted = np.clip(confidence[part], lowest, 1)
        q = np.exp(np.minimum(odds.logits[part].astype(np.float64) - odds.total[part, None], 0))
        q[rows, top] = 0
        q = _scaled(q, 1 - wanted, top)
        over = (q > wanted[:, None] * (1 - MARGIN)).any(1)
        q[over] = _levelled(q[over], wanted[over] * (1 - MARGIN), top[over])
        q[rows, top] = wanted
        out[part] = q
    return out


def _scaled(
    others: Float[np.ndarray, "r k"], rest: Float[np.ndarray, " r"], top: np.ndarray
) -> Float[np.ndarray, "r k"]:
    """Others in their proportions with this sum; evenly where all of them are zero."""
    sums = others.sum(1)
    none = sums == 0
    others[none] = 1
    others[none, top[none]] = 0
    sums[none] = others.shape[1] - 1
    return others * (rest / sums)[:, None]


def _levelled(
    others: Float[np.ndarray, "r k"], ceiling: Float[np.ndarray, " r"], top: np.ndarray
) -> Float[np.ndarray, "r k"]:
    """No entry above the ceiling, the same sums: the rest is raised by one factor a row."""
    rows = np.arange(len(others))
    total = others.sum(1)
    # Zeros cannot be raised by a factor.
    others = np.maximum(others, 1e-300)
    others[rows, top] = 0
    order = np.sort(others, axis=1)[:, ::-1]
    tails = order[:, ::-1].cumsum(1)[:, ::-1]
    cut = np.arange(order.shape[1])
    left = total[:, None] - ceiling[:, None] * cut
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = left / tails
        fits = (factors * order <= ceiling[:, None]) & (tails > 0)
    fewest = fits.argmax(1)
    factor = factors[rows, fewest]
    return np.minimum(others * factor[:, None], ceiling[:, None])
