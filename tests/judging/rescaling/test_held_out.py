"""Few validation samples: folds by hand, and a rescaler only where unseen samples gain by it."""

import numpy as np
import pytest

from mixcal.core.predictions import Predictions
from mixcal.judging.rescaling.held_out import cross_fitted, fit_if_it_helps, fold_of
from mixcal.judging.rescaling.temperature import Temperature


def predictions(n: int, sharpness: float, seed: int = 0, k: int = 3) -> Predictions:
    generator = np.random.default_rng(seed)
    z = generator.standard_normal((n, k)) * 2
    labels = (z + generator.gumbel(size=(n, k))).argmax(1)
    labels[:k] = range(k)
    return Predictions.of(labels, logits=sharpness * z, split="validation")


def test_folds_deal_out_each_class() -> None:
    fold = fold_of(np.array([1, 0, 1, 0, 1, 0, 1, 0]), folds=2)
    assert fold.tolist() == [0, 0, 1, 1, 0, 0, 1, 1]


def test_cross_fitting_by_hand() -> None:
    held = predictions(40, 4.0)
    fold = fold_of(held.labels, folds=5)
    expected = np.empty((40, 3))
    for out in range(5):
        fitted = Temperature.fit(held.logits[fold != out], held.labels[fold != out])
        expected[fold == out] = fitted.transform(held.logits[fold == out])
    assert np.array_equal(cross_fitted("temperature", held, {}), expected)


def test_few_samples_of_an_overconfident_network_gain() -> None:
    attempt = fit_if_it_helps("temperature", predictions(25, 5.0))
    assert attempt.rescaler is not None
    assert attempt.rescaler.temperature > 2
    assert "25 validation samples" in attempt.remark


def test_few_samples_of_a_calibrated_network_are_left_alone() -> None:
    kept = [fit_if_it_helps("temperature", predictions(12, 1.0, seed)) for seed in range(40)]
    left = [attempt for attempt in kept if attempt.rescaler is None]
    assert len(left) > 20
    assert "was not applied (12 validation samples" in left[0].remark


def test_all_right_means_no_temperature() -> None:
    generator = np.random.default_rng(0)
    z = generator.standard_normal((60, 3))
    for n in (6, 60):
        held = Predictions.of(z[:n].argmax(1), logits=z[:n], split="validation")
        attempt = fit_if_it_helps("temperature", held)
        assert attempt.rescaler is None
        assert "No best temperature" in attempt.remark


def test_enough_samples_need_no_check() -> None:
    attempt = fit_if_it_helps("temperature", predictions(600, 3.0))
    assert attempt.remark == ""
    assert attempt.rescaler is not None
    assert attempt.rescaler.temperature == pytest.approx(3.0, rel=0.2)
