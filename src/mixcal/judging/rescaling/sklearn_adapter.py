"""Rescalers as scikit-learn classifiers: X are logits, column c that of class c.

    from mixcal.judging.rescaling.sklearn_adapter import LogitRescaler
    probs = LogitRescaler("isotonic").fit(logits, labels).predict_proba(other_logits)

An adapter: importing it imports scikit-learn, which nothing else here does. Inside is the fitted
value, `rescaler_`; the estimator adds names of classes, `clone`, `GridSearchCV` and pipelines.
"""

from typing import Any, Self

import numpy as np
from jaxtyping import Float, Shaped
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from mixcal.core.errors import BadInput
from mixcal.judging.rescaling.registry import (
    check_knobs,
    find_rescaler,
    needs_features,
    transformed,
)


class LogitRescaler(ClassifierMixin, BaseEstimator):
    """A rescaler by name, with its knobs.

    `classes` names the columns, in order. Without it the labels themselves do: there are as many
    of them as columns, or they are whole numbers below the number of columns. Methods that need
    features (procal) read them from the columns of X after the first `logits`; where X has no
    others, the logits are the features.
    """

    def __init__(
        self,
        method: Any = "temperature",
        knobs: Any = None,
        classes: Any = None,
        logits: Any = None,
    ) -> None:
        # scikit-learn wants nothing checked here: a name, a table of knobs, names, a number.
        self.method = method
        self.knobs = knobs
        self.classes = classes
        self.logits = logits

    def fit(self, X: Any, y: Any) -> Self:
        """From held-out logits and their labels, never those of test data."""
        kind = find_rescaler(self.method)
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], ensure_min_features=2)
        check_classification_targets(y)
        width = X.shape[1] if self.logits is None else self.logits
        if not 0 < width <= X.shape[1]:
            raise BadInput(f"logits is {width}; X has {X.shape[1]} columns, so give fewer.")
        self.classes_ = self._columns(y, width)
        places = np.searchsorted(self.classes_, y, sorter=(order := np.argsort(self.classes_)))
        knobs = dict(self.knobs or {})
        check_knobs(self.method, knobs)
        extra = {"features": _features(X, width)} if needs_features(self.method) else {}
        self.rescaler_ = kind.fit(X[:, :width], order[places], **extra, **knobs)
        return self

    def predict_proba(self, X: Any) -> Float[np.ndarray, "n k"]:
        """Probabilities of `classes_`."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        width = len(self.classes_)
        return transformed(self.rescaler_, X[:, :width], features=_features(X, width))

    def predict(self, X: Any) -> Shaped[np.ndarray, " n"]:
        """The likeliest class."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(1)]

    def _columns(self, y: Shaped[np.ndarray, " n"], width: int) -> Shaped[np.ndarray, " k"]:
        """The name of every column of logits."""
        found = np.unique(y)
        if self.classes is not None:
            names = np.asarray(self.classes)
            unknown = np.setdiff1d(found, names)
            if len(names) != width or len(np.unique(names)) != width or len(unknown):
                raise BadInput(
                    f"classes are {list(names)} for {width} columns of logits, and the labels hold "
                    f"{list(found)}; name each column once."
                )
            return names
        if len(found) == width:
            return found
        whole = np.issubdtype(found.dtype, np.number) and (found == np.floor(found)).all()
        if whole and found[0] >= 0 and found[-1] < width:
            return np.arange(width).astype(found.dtype)
        raise BadInput(
            f"X has {width} columns of logits and the labels are {list(found)}; X needs one column "
            "a class, or name the columns with `classes`."
        )


def _features(X: Float[np.ndarray, "n c"], width: int) -> Float[np.ndarray, "n d"]:
    """What follows the logits, or they themselves."""
    return X[:, width:] if X.shape[1] > width else X
