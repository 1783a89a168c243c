"""Platt scaling against scikit-learn's CalibratedClassifierCV, and a sigmoid that is known."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from mixcal.judging.rescaling.odds import Odds
from mixcal.judging.rescaling.platt import Platt


class LogOdds(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose decision function is the log-odds of its inputs, the logits."""

    def fit(self, x, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, x):
        odds = Odds.of(x)
        columns = np.stack([odds.log_odds(c) for c in range(x.shape[1])], axis=1)
        return columns[:, 1] if x.shape[1] == 2 else columns

    def predict(self, x):
        return self.classes_[x.argmax(1)]


def drawn(n: int, k: int, seed: int):
    generator = np.random.default_rng(seed)
    z = generator.standard_normal((n, k)) * 4
    return z, (z / 3 + generator.gumbel(size=z.shape)).argmax(1)


def test_as_scikit_learn() -> None:
    for k in (2, 4):
        z, labels = drawn(400, k, k)
        frozen = FrozenEstimator(LogOdds().fit(z, labels))
        theirs = CalibratedClassifierCV(frozen, method="sigmoid", ensemble=False, cv=2)
        theirs.fit(z, labels)
        ours = Platt.fit(z, labels).transform(z)
        # Theirs stops where the gradient is small enough for it.
        assert np.allclose(ours, theirs.predict_proba(z), atol=2e-4)


def test_a_known_sigmoid() -> None:
    z, labels = drawn(40_000, 2, 0)
    fitted = Platt.fit(z, labels)
    assert np.allclose(fitted.slopes, 1 / 3, atol=0.01)
    assert np.allclose(fitted.offsets, 0, atol=0.03)
    difference = (z[:, 0] - z[:, 1]) * fitted.slopes[0] + fitted.offsets[0]
    assert np.allclose(fitted.transform(z)[:, 0], 1 / (1 + np.exp(-difference)), atol=1e-9)
