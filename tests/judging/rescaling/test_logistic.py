"""Logistic regression of soft targets against scikit-learn's with weighted copies of samples."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from mixcal.judging.rescaling.logistic import fit_logistic, log_loss_of, smoothed_targets


def test_against_weighted_copies() -> None:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((200, 2)) * [1, 50] + [3, -10]
    targets = generator.random(200)
    theirs = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(
        np.concatenate([x, x]),
        np.repeat([1, 0], 200),
        sample_weight=np.concatenate([targets, 1 - targets]),
    )
    ours = fit_logistic(x, targets)
    assert np.allclose(ours, [*theirs.coef_[0], theirs.intercept_[0]], rtol=1e-5)
    assert log_loss_of(x, targets, ours) <= log_loss_of(x, targets, ours * 1.001)


def test_features_that_say_nothing_or_the_same() -> None:
    x = np.stack([np.ones(4), [1.0, 2, 3, 4], [1.0, 2, 3, 4]], axis=1)
    targets = np.array([0.2, 0.3, 0.8, 0.7])
    ours = fit_logistic(x, targets)
    assert ours[0] == pytest.approx(0, abs=1e-9)
    assert ours[1] == pytest.approx(ours[2])
    alone = fit_logistic(x[:, 1:2], targets)
    assert 2 * ours[1] == pytest.approx(alone[0], rel=1e-6)
    assert fit_logistic(np.ones((1, 1)), np.array([0.7]))[1] == pytest.approx(np.log(7 / 3))


def test_platts_targets_by_hand() -> None:
    found = smoothed_targets(np.array([True, True, False, True, True]))
    assert found.tolist() == pytest.approx([5 / 6, 5 / 6, 1 / 3, 5 / 6, 5 / 6])
