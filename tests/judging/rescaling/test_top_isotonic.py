"""Isotonic regression of confidences against scikit-learn's on the same pairs."""

import numpy as np
from sklearn.isotonic import IsotonicRegression

from mixcal.judging.rescaling.top_isotonic import TopIsotonic


def test_as_scikit_learn_on_top_labels() -> None:
    generator = np.random.default_rng(0)
    z = generator.standard_normal((500, 5)) * 4
    labels = (z / 3 + generator.gumbel(size=z.shape)).argmax(1)
    q = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(q.max(1), z.argmax(1) == labels)
    probs = TopIsotonic.fit(z, labels).transform(z)
    assert np.allclose(probs.max(1), np.maximum(theirs.predict(q.max(1)), 0.2), atol=1e-6)
    assert np.array_equal(probs.argmax(1), z.argmax(1))
    # In each pool the confidence is the accuracy, so the mean is too.
    assert np.isclose(probs.max(1).mean(), (z.argmax(1) == labels).mean(), atol=0.01)
