"""Temperature against the worked numbers, a scalar search by scipy, and what must hold always."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from mixcal.core.errors import BadInput
from mixcal.judging.rescaling.temperature import GRID, HIGHEST, LOWEST, Temperature

LOGITS = np.array([[4.0, 0, 0], [3, 1, 0], [0, 2.5, 0], [2, 0, 3], [5, 1, 1], [0, 0, 1.5]])
LABELS = np.array([0, 0, 1, 0, 1, 2])


def log_loss(logits: np.ndarray, labels: np.ndarray, temperature: float) -> float:
    wide = log_softmax(logits.astype(np.float64) / temperature, axis=1)
    return float(-wide[np.arange(len(labels)), labels].mean())


def best_temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """By the book: the root of the slope in b = 1 / T, bracketed, float64, one sample at a time."""
    found = minimize_scalar(
        lambda a: log_loss(logits, labels, np.exp(a)),
        bounds=(-5, 5),
        method="bounded",
        options={"xatol": 1e-3},
    ).x
    wide = logits.astype(np.float64)
    low, high = np.exp(-found) * 0.98, np.exp(-found) * 1.02
    for _ in range(60):
        b = (low + high) / 2
        slope = 0.0
        for z, y in zip(wide, labels, strict=True):
            p = np.exp(b * (z - z.max()))
            slope += p @ z / p.sum() - z[y]
        low, high = (b, high) if slope < 0 else (low, b)
    return 1 / b


def drawn(n: int, k: int, temperature: float, seed: int, dtype=np.float64):
    """Labels from softmax(z); the model reports T z."""
    generator = np.random.default_rng(seed)
    z = generator.standard_normal((n, k)) * 2.5
    p = np.exp(log_softmax(z, axis=1))
    labels = (p.cumsum(1) < generator.random((n, 1))).sum(1).clip(max=k - 1)
    return (temperature * z).astype(dtype), labels


def test_worked_example() -> None:
    fitted = Temperature.fit(LOGITS, LABELS)
    assert fitted.temperature == pytest.approx(2.031548, abs=5e-7)
    assert log_loss(LOGITS, LABELS, fitted.temperature) == pytest.approx(0.860901, abs=5e-7)
    assert fitted.low < fitted.temperature < fitted.high
    assert Temperature.fit(LOGITS, LABELS, criterion="grid-nll").temperature == 2.0
    assert Temperature.fit(LOGITS, LABELS, criterion="grid-ece").temperature == 2.4


def test_the_grid_is_nominal_and_the_smallest_of_equals_wins() -> None:
    assert GRID[9] == 1.0
    assert (len(GRID), GRID[0], GRID[-1]) == (100, 0.1, 10.0)
    # Equal scores: every temperature gives the same confidences.
    flat = np.ones((4, 2))
    assert Temperature.fit(flat, np.array([0, 1, 0, 1]), criterion="grid-ece").temperature == 0.1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("temperature", [0.05, 0.1, 0.484, 1, 1.578, 5, 20])
def test_the_optimum_to_five_digits(temperature: float, dtype: type) -> None:
    logits, labels = drawn(600, 10, temperature, seed=int(100 * temperature), dtype=dtype)
    ours = Temperature.fit(logits, labels).temperature
    assert abs(ours / best_temperature(logits, labels) - 1) <= 1e-5


def test_many_rows_take_a_rough_start_and_end_at_the_same_place() -> None:
    logits, labels = drawn(20_000, 5, 3.0, seed=1, dtype=np.float32)
    # Sorted rows: the rough start must not see one class only.
    order = np.argsort(labels, kind="stable")
    ours = Temperature.fit(logits[order], labels[order]).temperature
    assert abs(log_loss(logits, labels, ours) - log_loss(logits, labels, ours * 1.001)) < 1e-5
    assert ours == pytest.approx(Temperature.fit(logits, labels).temperature, rel=1e-6)
    assert ours == pytest.approx(3.0, rel=0.05)


def test_the_interval_covers() -> None:
    covered = 0
    for seed in range(200):
        logits, labels = drawn(300, 4, 1.7, seed=seed)
        fitted = Temperature.fit(logits, labels, level=0.9)
        covered += fitted.low <= 1.7 <= fitted.high
    assert 0.84 <= covered / 200 <= 0.96


@pytest.mark.parametrize(
    ("labels", "bound", "reason"),
    [
        (LOGITS.argmax(1), LOWEST, "no confidence is too high"),
        (LOGITS.argmin(1), HIGHEST, "no better than chance"),
    ],
)
def test_without_an_optimum_the_bound_with_a_warning(labels, bound: float, reason: str) -> None:
    with pytest.warns(UserWarning, match=reason):
        fitted = Temperature.fit(LOGITS, labels)
    assert fitted.at_bound
    assert fitted.temperature == bound
    assert (fitted.low, fitted.high) == (None, None)
    probs = fitted.transform(LOGITS)
    assert np.isfinite(probs).all()
    assert np.allclose(probs.sum(1), 1)


def test_an_optimum_beyond_the_bound_and_equal_scores() -> None:
    with pytest.warns(UserWarning, match="beyond the bound"):
        assert Temperature.fit(LOGITS * 1e-6, LABELS).temperature == LOWEST
    with pytest.warns(UserWarning, match="beyond the bound"):
        assert Temperature.fit(LOGITS * 1e6, LABELS).temperature == HIGHEST
    with pytest.warns(UserWarning, match="as good as another"):
        assert Temperature.fit(np.ones((3, 2)), np.array([0, 1, 1])).temperature == 1


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.floats(0.01, 100), n=st.integers(1, 40))
def test_never_negative_and_labels_are_kept(seed: int, scale: float, n: int) -> None:
    generator = np.random.default_rng(seed)
    logits = generator.standard_normal((n, 4)) * scale
    labels = generator.integers(0, 4, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = Temperature.fit(logits, labels)
    assert LOWEST <= fitted.temperature <= HIGHEST
    probs = fitted.transform(logits)
    # At huge temperatures float64 cannot tell the classes apart; where it can, the order stays.
    assert (probs[np.arange(n), logits.argmax(1)] == probs.max(1)).all()
    assert log_loss(logits, labels, fitted.temperature) <= log_loss(logits, labels, 1.0) + 1e-12


def test_rows_may_come_in_any_order_and_shifted() -> None:
    logits, labels = drawn(200, 6, 2.0, seed=3)
    order = np.random.default_rng(0).permutation(200)
    ours = Temperature.fit(logits, labels).temperature
    assert Temperature.fit(logits[order], labels[order]).temperature == pytest.approx(ours, 1e-9)
    shifted = logits + np.arange(200)[:, None]
    assert Temperature.fit(shifted, labels).temperature == pytest.approx(ours, 1e-9)


def test_probabilities_of_zero_and_half_precision() -> None:
    with np.errstate(divide="ignore"):
        logits = np.log(np.array([[0.9, 0.1, 0], [0.2, 0.8, 0], [0.6, 0.4, 0], [0.7, 0.3, 0]]))
    fitted = Temperature.fit(logits, np.array([0, 1, 1, 0]))
    assert np.isfinite(fitted.temperature)
    assert (fitted.transform(logits)[:, 2] == 0).all()
    halves, labels = drawn(300, 4, 2.0, seed=5, dtype=np.float16)
    assert Temperature.fit(halves, labels).temperature == pytest.approx(
        best_temperature(halves, labels), rel=1e-5
    )


@pytest.mark.parametrize(
    ("logits", "labels", "message"),
    [
        (LOGITS[0], LABELS, "samples by classes"),
        (LOGITS, LABELS[:3], "3 labels for 6 rows"),
        (LOGITS, LABELS + 1, "outside 0 … 2"),
        (np.where(LOGITS == 5, np.nan, LOGITS), LABELS, "row 4 of the logits holds NaN"),
        (np.where(LOGITS == 5, np.inf, LOGITS), LABELS, r"\+inf"),
        (np.full((6, 3), 1 / 3), LABELS, "say probs"),
        (LOGITS[:0], LABELS[:0], "need a sample"),
        (LOGITS[:, :1], LABELS * 0, "two classes"),
    ],
)
def test_nonsense_is_named(logits: np.ndarray, labels: np.ndarray, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Temperature.fit(logits, labels)
    with pytest.raises(BadInput, match="criterion is 'mse'"):
        Temperature.fit(LOGITS, LABELS, criterion="mse")
