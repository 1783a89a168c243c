"""Ensemble temperature scaling against scipy's SLSQP on the formula, and shares that are known."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mixcal.core.errors import BadInput
from mixcal.judging.rescaling.ensemble_temperature import EnsembleTemperature
from mixcal.judging.rescaling.fitting_data import NoOptimum
from mixcal.judging.rescaling.temperature import Temperature


def softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def noisy(n: int, k: int, seed: int, noise: float):
    """Overconfident logits, and a share of labels drawn evenly."""
    generator = np.random.default_rng(seed)
    z = generator.standard_normal((n, k)) * 2
    labels = (z + generator.gumbel(size=z.shape)).argmax(1)
    random = generator.random(n) < noise
    labels[random] = generator.integers(0, k, random.sum())
    return 2 * z, labels


@pytest.mark.parametrize("criterion", ["nll", "brier"])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_optimum(criterion: str, noise: float) -> None:
    z, labels = noisy(500, 4, 0, noise)
    fitted = EnsembleTemperature.fit(z, labels, criterion=criterion)
    assert fitted.temperature == Temperature.fit(z, labels).temperature
    parts = np.stack([softmax(z / fitted.temperature), softmax(z), np.full(z.shape, 0.25)])

    def loss(w: np.ndarray) -> float:
        p = np.tensordot(w, parts, 1)
        if criterion == "nll":
            return float(-np.log(p[np.arange(500), labels]).mean())
        return float(((p - np.eye(4)[labels]) ** 2).mean())

    theirs = minimize(
        loss,
        np.array([0.8, 0.1, 0.1]),
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        method="SLSQP",
        tol=1e-12,
    )
    w = np.array([fitted.scaled, fitted.plain, fitted.even])
    assert loss(w) <= theirs.fun + 1e-10
    assert np.allclose(np.tensordot(w, parts, 1), fitted.transform(z), atol=1e-12)


def test_even_labels_are_noticed_and_predictions_kept() -> None:
    z, labels = noisy(20_000, 4, 1, 0.4)
    fitted = EnsembleTemperature.fit(z, labels)
    alone = Temperature.fit(z, labels).transform(z)
    own = np.arange(len(z))
    mixed = fitted.transform(z)
    assert -np.log(mixed[own, labels]).mean() < -np.log(alone[own, labels]).mean() - 0.002
    assert fitted.even > 0.1
    assert np.array_equal(mixed.argmax(1), z.argmax(1))
    with pytest.raises(BadInput, match="criterion is 'mse'"):
        EnsembleTemperature.fit(z, labels, criterion="mse")


@pytest.mark.parametrize("criterion", ["nll", "brier"])
def test_predictions_are_kept_where_scores_say_nothing(criterion: str) -> None:
    z = noisy(200, 4, 1, 0.0)[0]
    with pytest.warns(NoOptimum, match="no better than chance"):
        fitted = EnsembleTemperature.fit(z, (z.argmax(1) + 1) % 4, criterion=criterion)
    assert fitted.even > 0.999
    probs = fitted.transform(z.astype(np.float32))
    assert (probs.argmax(1) == z.argmax(1)).all()
