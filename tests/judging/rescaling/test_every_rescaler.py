"""What holds for every rescaler: the simplex, odd data, order of samples, names of two classes."""

import inspect
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixcal.core.errors import BadInput
from mixcal.judging.rescaling.fitting_data import NoOptimum
from mixcal.judging.rescaling.registry import RESCALERS, needs_features, transformed

KEEPS_LABELS = ("temperature", "ensemble-temperature", "top-isotonic", "spline", "procal")
# Matrix and vector scaling read logits as they are, so what is added to a whole row matters.
SHIFT_MATTERS = ("vector", "matrix")

pytestmark = pytest.mark.filterwarnings("ignore::mixcal.judging.rescaling.fitting_data.NoOptimum")


def drawn(n: int, k: int, seed: int, sharpness: float = 2.0):
    """Logits too sharp, labels from the true ones, features that carry the logits."""
    generator = np.random.default_rng(seed)
    z = generator.standard_normal((n, k)) * 1.5
    labels = (z + generator.gumbel(size=(n, k))).argmax(1)
    features = np.concatenate([z, generator.standard_normal((n, 2))], axis=1)
    return sharpness * z, labels, features


def fitted(name: str, logits, labels, features, **knobs):
    extra = {"features": features} if needs_features(name) else {}
    return RESCALERS[name].fit(logits, labels, **extra, **knobs)


def check(name: str, probs: np.ndarray, logits: np.ndarray) -> None:
    assert probs.shape == logits.shape
    assert np.isfinite(probs).all()
    assert (probs >= 0).all()
    tolerance = 1e-9 if probs.dtype == np.float64 else 1e-5
    assert np.abs(probs.sum(1, dtype=np.float64) - 1).max() < tolerance
    if name in KEEPS_LABELS:
        own = probs[np.arange(len(probs)), logits.argmax(1)]
        assert (own == probs.max(1)).all()


@pytest.mark.parametrize("name", RESCALERS)
@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 25),
    k=st.integers(2, 5),
    scale=st.sampled_from([1e-6, 0.1, 1.0, 30.0, 1e5, 1e30]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_few_samples_missing_classes_and_extreme_logits(name, seed, n, k, scale, dtype) -> None:
    logits, labels, features = drawn(n, k, seed, scale)
    test, _, others = drawn(7, k, seed + 1, scale)
    made = fitted(name, logits.astype(dtype), labels, features)
    check(name, transformed(made, test.astype(dtype), features=others), test.astype(dtype))


@pytest.mark.parametrize("name", RESCALERS)
def test_ties_saturation_one_class_and_zeros(name: str) -> None:
    logits, labels, features = drawn(40, 3, 0)
    flat = np.zeros((40, 3))
    with np.errstate(divide="ignore"):
        hard = np.log(np.eye(3)[logits.argmax(1)])
    halves = logits.astype(np.float16)
    alike = np.ones_like(features)
    for scores, truth, near in (
        (flat, labels, alike),
        (hard, labels, features),
        (logits, np.full(40, 1), features),
        (logits, logits.argmax(1), alike),
        (logits, logits.argmin(1), features),
        (halves, labels, features),
        (np.round(logits), labels, np.round(features)),
    ):
        made = fitted(name, scores, truth, near)
        wide = np.where(np.isneginf(scores), -1e4, scores)
        check(name, transformed(made, scores, features=near), wide)


@pytest.mark.parametrize("name", RESCALERS)
def test_samples_in_any_order_and_one_at_a_time(name: str) -> None:
    logits, labels, features = drawn(120, 4, 3)
    test, _, others = drawn(50, 4, 4)
    order = np.random.default_rng(0).permutation(120)
    made = fitted(name, logits, labels, features)
    probs = transformed(made, test, features=others)
    again = fitted(name, logits[order], labels[order], features[order])
    if name not in ("matrix", "dirichlet"):  # their folds follow the order
        assert np.allclose(transformed(again, test, features=others), probs, atol=1e-7)
    one = transformed(made, test[7:8], features=others[7:8])
    assert np.allclose(one, probs[7:8], atol=1e-12)


@pytest.mark.parametrize("name", RESCALERS)
def test_two_classes_swapped(name: str) -> None:
    logits, labels, features = drawn(200, 2, 5)
    test, _, others = drawn(60, 2, 6)
    # Quantiles close on one side, and folds are dealt out in the order of the classes.
    fixed = {"binning": "equal-width"}, {"penalty": 0.1}
    knobs = {"histogram": fixed[0], "matrix": fixed[1], "dirichlet": fixed[1]}.get(name, {})
    probs = transformed(fitted(name, logits, labels, features, **knobs), test, features=others)
    swapped = fitted(name, logits[:, ::-1], 1 - labels, features, **knobs)
    mirrored = transformed(swapped, test[:, ::-1], features=others)
    assert np.allclose(mirrored[:, ::-1], probs, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in RESCALERS if name not in SHIFT_MATTERS])
def test_only_differences_of_logits_matter(name: str) -> None:
    logits, labels, features = drawn(100, 4, 7)
    shift = np.arange(100)[:, None] / 8
    probs = transformed(fitted(name, logits, labels, features), logits, features=features)
    moved = fitted(name, logits + shift, labels, features)
    assert np.allclose(transformed(moved, logits + shift, features=features), probs, atol=1e-6)


@pytest.mark.parametrize("name", RESCALERS)
def test_calibrated_again(name: str) -> None:
    """On many samples of an overconfident network the log loss comes near that of the truth."""
    logits, labels, features = drawn(2000, 3, 8)
    test, truth, others = drawn(3000, 3, 9)
    own = np.arange(3000)

    def loss(probs: np.ndarray) -> float:
        return float(-np.log(np.maximum(probs[own, truth], 1e-2)).mean())

    def softmax(z: np.ndarray) -> np.ndarray:
        e = np.exp(z - z.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    found = loss(transformed(fitted(name, logits, labels, features), test, features=others))
    best, before = loss(softmax(test / 2)), loss(softmax(test))
    assert found < best + 0.6 * (before - best)


@pytest.mark.parametrize("name", RESCALERS)
def test_wrong_input_is_named(name: str) -> None:
    logits, labels, features = drawn(30, 3, 0)
    with pytest.raises(BadInput, match="samples by classes"):
        fitted(name, logits[0], labels, features)
    with pytest.raises(BadInput, match="label 3 of row 2 is outside"):
        fitted(name, logits, np.where(np.arange(30) == 2, 3, labels), features)
    probs = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    with pytest.raises(BadInput, match="say probs"):
        fitted(name, probs, labels, features)
    made = fitted(name, logits, labels, features)
    if name != "temperature":
        with pytest.raises(BadInput, match="fitted on 3 classes"):
            transformed(made, logits[:, :2], features=features)
    if needs_features(name):
        for wrong in (features[:4], features[:, 0], features * np.nan):
            with pytest.raises(BadInput, match="features"):
                fitted(name, logits, labels, wrong)
        with pytest.raises(BadInput, match="fitted on 5"):
            transformed(made, logits, features=features[:, :2])
        with pytest.raises(BadInput, match="neighbors is 0"):
            fitted(name, logits, labels, features, neighbors=0)
        with pytest.raises(BadInput, match="variant is 'x'"):
            fitted(name, logits, labels, features, variant="x")


def test_every_knob_has_a_default() -> None:
    for kind in RESCALERS.values():
        for key, knob in inspect.signature(kind.fit).parameters.items():
            assert key in ("logits", "labels", "features") or knob.default is not knob.empty


def test_no_warning_but_where_nothing_is_decided() -> None:
    logits, labels, features = drawn(80, 3, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoOptimum)
        for name in RESCALERS:
            fitted(name, logits, labels, features)
