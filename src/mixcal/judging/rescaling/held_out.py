"""Fitting with few samples: a rescaler is taken only if it helps on those it did not see.

With fewer than ten samples of a class the fit is checked by cross-fitting: every sample is rescaled
by a fit on the other folds, and the mean log loss of those must be lower than without.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from mixcal.core.predictions import Predictions
from mixcal.judging.rescaling.fitting_data import NoOptimum, fold_of
from mixcal.judging.rescaling.registry import Rescaler, fit_rescaler, rescaled_probs

FEW = 10
FOLDS = 5
# What the log loss of a probability of exactly zero counts for when two fits are compared.
TINY = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A rescaler, or the reason why there is none."""

    rescaler: Rescaler | None
    remark: str = ""


def fit_if_it_helps(
    name: str, validation: Predictions, knobs: Mapping[str, Any] | None = None
) -> Attempt:
    """Fit; below ten samples a class, only if the cross-fitted log loss falls."""
    n, k = validation.scores.shape
    fewest = int(np.bincount(validation.labels, minlength=k).min())
    how = ""
    if fewest < FEW:
        before = log_losses(validation.probs, validation.labels).mean()
        crossed = cross_fitted(name, validation, knobs or {})
        after = log_losses(crossed, validation.labels).mean()
        how = f"{n} validation samples, {fewest} of the rarest class: cross-fitted log loss "
        how += f"{after:.4f}, without {before:.4f}"
        if not after < before:
            return Attempt(rescaler=None, remark=f"{name} was not applied ({how}).")
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoOptimum)
        try:
            fitted = fit_rescaler(name, validation, **(knobs or {}))
        except NoOptimum as reason:
            return Attempt(rescaler=None, remark=f"{name} was not applied. {reason}")
    return Attempt(rescaler=fitted, remark=f"{name} was applied ({how})." if how else "")


def cross_fitted(
    name: str, predictions: Predictions, knobs: Mapping[str, Any], *, folds: int = FOLDS
) -> Float[np.ndarray, "n k"]:
    """Probabilities of each sample by a fit on the folds it is not in."""
    fold = fold_of(predictions.labels, folds=folds)
    probs = np.array(predictions.probs, dtype=np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoOptimum)
        for out in range(int(fold.max()) + 1 if len(fold) > 1 else 0):
            fitted = fit_rescaler(name, predictions.take(fold != out), **knobs)
            probs[fold == out] = rescaled_probs(fitted, predictions.take(fold == out))
    return probs


def log_losses(
    probs: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """−ln of the true class's probability, large but finite where that is zero."""
    own = probs[np.arange(len(labels)), labels].astype(np.float64)
    return -np.log(np.maximum(own, TINY))
