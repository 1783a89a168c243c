"""Every rescaler by name: fitted on validation only, saved and loaded to the same bits."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions
from mixcal.judging.rescaling.fitting_data import TrueClassImpossible, logits_to_rescale
from mixcal.judging.rescaling.registry import (
    RESCALERS,
    find_rescaler,
    fit_rescaler,
    knobs_of,
    rescaled,
    rescaled_probs,
)
from mixcal.judging.rescaling.saving import load_rescaler, save_rescaler


def predictions(split: str = "validation", n: int = 400, k: int = 4, seed: int = 0) -> Predictions:
    generator = np.random.default_rng(seed)
    z = generator.standard_normal((n, k)) * 2
    labels = (z + generator.gumbel(size=(n, k))).argmax(1)
    return Predictions(
        scores=2 * z,
        kind="logits",
        labels=labels,
        classes=tuple("abcdefgh"[:k]),
        ids=np.arange(n),
        split=split,
        source="toy",
        features=np.concatenate([z, generator.standard_normal((n, 2))], axis=1),
    )


@pytest.mark.parametrize("name", RESCALERS)
def test_every_rescaler(name: str, tmp_path: Path) -> None:
    fitted = fit_rescaler(name, predictions())
    test = predictions("test", n=300, seed=1)
    probs = rescaled_probs(fitted, test)
    assert probs.shape == test.scores.shape
    assert (probs >= 0).all()
    assert np.allclose(probs.sum(1), 1, atol=1e-9)
    save_rescaler(fitted, tmp_path / "r.json")
    again = load_rescaler(tmp_path / "r.json")
    assert np.array_equal(rescaled_probs(again, test), probs)
    better = rescaled(again, test)
    assert (better.kind, better.split, better.notes["rescaler"]) == ("probs", "test", name)
    own = np.arange(len(test))
    before = -np.log(test.probs[own, test.labels]).mean()
    after = -np.log(np.maximum(probs[own, test.labels], 1e-3)).mean()
    assert after < before


@pytest.mark.parametrize("name", RESCALERS)
def test_fitting_on_test_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="toy: the split is test"):
        fit_rescaler(name, predictions("test"))


def test_unknown_names_and_knobs_and_missing_features() -> None:
    with pytest.raises(BadInput, match=r"no rescaler 'temprature'; did you mean 'temperature'\?"):
        find_rescaler("temprature")
    with pytest.raises(BadInput, match=r"no knob 'criterium'; did you mean 'criterion'\?"):
        fit_rescaler("temperature", predictions(), criterium="nll")


def test_a_file_that_is_no_rescaler(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not exist"):
        load_rescaler(tmp_path / "none.json")
    path = tmp_path / "r.json"
    save_rescaler(fit_rescaler("temperature", predictions()), path)
    record = json.loads(path.read_text())
    objects = {"dtype": "|O", "shape": [1], "values": [{}]}
    for broken in (
        {},
        [],
        {**record, "rescaler": "x"},
        {**record, "more": 1},
        {**record, "low": objects},
    ):
        path.write_text(json.dumps(broken))
        with pytest.raises(BadInput, match="no rescaler that mixcal saved"):
            load_rescaler(path)
    path.write_text("{")
    with pytest.raises(BadInput, match="no rescaler that mixcal saved"):
        load_rescaler(path)


def test_importing_them_all_brings_in_nothing_heavy() -> None:
    code = (
        "import sys; import mixcal.judging.rescaling.registry\n"
        "print([m for m in ('torch', 'scipy', 'sklearn', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("digits", [6, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zeros_of_rounded_probabilities_stand_for_little(digits: int, dtype: type) -> None:
    """At log(tiny) they gave 4.1 in place of 1.9, and another number for float32."""
    generator = np.random.default_rng(1)
    z = 4 * generator.standard_normal((2000, 10))
    labels = (z / 2 + generator.gumbel(size=z.shape)).argmax(1)
    exact = Predictions.of(labels, logits=z, split="validation")
    rounded = exact.probs.round(digits)
    rounded = (rounded / rounded.sum(1, keepdims=True)).astype(dtype)
    written = Predictions.of(labels, probs=rounded, split="validation", source="rounded.csv")
    assert (written.probs == 0).any()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrueClassImpossible)
        for name in ("temperature", "platt"):
            known = rescaled(fit_rescaler(name, exact), exact)
            found = rescaled(fit_rescaler(name, written), written)
            assert found.probs == pytest.approx(known.probs, abs=0.05), name


def test_a_true_class_of_probability_zero_is_said() -> None:
    probs = np.array([[1.0, 0.0], [0.25, 0.75], [0.5, 0.5]] * 5)
    written = Predictions.of(np.array([1, 1, 0] * 5), probs=probs, split="validation", source="p")
    with pytest.warns(TrueClassImpossible, match="p: the true class of 5 of 15 samples"):
        fit_rescaler("platt", written)
    # Half of 0.25 is more than a thousandth, which is the most that zero stands for.
    assert np.exp(logits_to_rescale(written)).min() == pytest.approx(1e-3)


@pytest.mark.parametrize("name", RESCALERS)
def test_values_of_the_wrong_kind_are_refused_in_a_sentence(name: str) -> None:
    for key, default in knobs_of(name).items():
        for value in ("abc", [1], True, float("nan"), -1):
            with pytest.raises(BadInput, match=f"{key}|{value}"):
                fit_rescaler(name, predictions(), **{key: value})
        if isinstance(default, int):
            for value in (2.5, 0):
                with pytest.raises(BadInput, match=f"{key} is {value}; it must be a whole number"):
                    fit_rescaler(name, predictions(), **{key: value})
