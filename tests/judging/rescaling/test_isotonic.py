"""Isotonic regression against scikit-learn's, alone and in CalibratedClassifierCV, and by hand."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression

from mixcal.judging.rescaling.isotonic import Isotonic
from mixcal.judging.rescaling.monotone import RisingCurve


def test_by_hand() -> None:
    scores = np.array([0.1, 0.4, 0.3, 0.2, 0.4])
    curve = RisingCurve.fit(scores, np.array([0, 1, 0, 1, 1], dtype=bool))
    # In order: 0 | 1 0 pooled | 1 1 at one score.
    assert curve.scores.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert curve.values.tolist() == [0, 0.5, 0.5, 1]
    assert np.allclose(curve.at(np.array([0.0, 0.15, 0.25, 0.35, 0.9])), [0, 0.25, 0.5, 0.75, 1])


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), steps=st.integers(2, 30))
def test_as_scikit_learn_and_rising(seed: int, n: int, steps: int) -> None:
    generator = np.random.default_rng(seed)
    scores = generator.integers(0, steps, n) / steps
    right = generator.random(n) < scores
    curve = RisingCurve.fit(scores, right)
    at = np.sort(np.append(generator.random(50), scores))
    theirs = IsotonicRegression(out_of_bounds="clip").fit(scores, right.astype(float))
    assert np.allclose(curve.at(at), theirs.predict(at), atol=1e-12)
    assert (np.diff(curve.at(at)) >= 0).all()


class Softmax(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose inputs are logits."""

    def fit(self, x, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, x):
        e = np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    def predict(self, x):
        return self.classes_[x.argmax(1)]


def test_one_against_the_rest_as_scikit_learn() -> None:
    generator = np.random.default_rng(0)
    z = generator.standard_normal((400, 4)) * 4
    labels = (z / 3 + generator.gumbel(size=z.shape)).argmax(1)
    frozen = FrozenEstimator(Softmax().fit(z, labels))
    theirs = CalibratedClassifierCV(frozen, method="isotonic", ensemble=False, cv=2).fit(z, labels)
    test = generator.standard_normal((200, 4)) * 4
    probs, others = Isotonic.fit(z, labels).transform(test), theirs.predict_proba(test)
    # A row of zeros only is even for them; here it stays as it was.
    decided = others.min(1) != others.max(1)
    assert decided.sum() > 190
    assert np.allclose(probs[decided], others[decided], atol=1e-9)


def test_a_class_without_samples_keeps_its_probability() -> None:
    z = np.log(np.array([[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.5, 0.3, 0.2], [0.3, 0.6, 0.1]]))
    fitted = Isotonic.fit(z, np.array([0, 1, 0, 1]))
    # Both other curves are one there or zero there.
    assert np.allclose(
        fitted.transform(z),
        [[1, 0, 0.1], [0, 1, 0.1], [1, 0, 0.2], [0, 1, 0.1]]
        / np.array([[1.1], [1.1], [1.2], [1.1]]),
    )
