"""Rescalers as scikit-learn estimators: its own checks, and what the values inside give."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from mixcal.core.errors import BadInput
from mixcal.judging.rescaling.procal import ProCal
from mixcal.judging.rescaling.registry import RESCALERS
from mixcal.judging.rescaling.sklearn_adapter import LogitRescaler
from mixcal.judging.rescaling.temperature import Temperature

NO_LOGITS = "its data have three classes and two columns, so they cannot be logits"
ONE_LABEL = "with one class seen it wants that class predicted, whatever the logits say"
# These give a class more when it is all that was seen.
FOLLOW_LABELS = ("vector", "matrix", "dirichlet", "platt", "beta", "isotonic")
# One of each kind; the others' checks are slow together.
CHECKED = ("temperature", "isotonic", "procal")


def refused(estimator: LogitRescaler) -> dict[str, str]:
    """The checks that logits cannot pass, each with its reason."""
    named = {
        "check_estimators_overwrite_params": NO_LOGITS,
        "check_estimators_fit_returns_self": NO_LOGITS,
        "check_readonly_memmap_input": NO_LOGITS,
        "check_classifiers_classes": NO_LOGITS,
        "check_classifiers_train": NO_LOGITS,
    }
    if estimator.method not in FOLLOW_LABELS:
        named["check_classifiers_one_label"] = ONE_LABEL
    return named


@pytest.mark.filterwarnings("ignore")  # the checks fit on data that decide nothing, and warn
@parametrize_with_checks(
    [LogitRescaler(name) for name in CHECKED], expected_failed_checks=refused, xfail_strict=True
)
def test_scikit_learn_checks(estimator, check) -> None:
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [LogitRescaler(name) for name in RESCALERS if name not in CHECKED],
    expected_failed_checks=refused,
    xfail_strict=True,
)
def test_scikit_learn_checks_of_the_others(estimator, check) -> None:
    check(estimator)


def drawn(n: int, seed: int):
    generator = np.random.default_rng(seed)
    z = generator.standard_normal((n, 3)) * 4
    return z, (z / 2 + generator.gumbel(size=z.shape)).argmax(1)


def test_it_is_the_value_inside() -> None:
    z, labels = drawn(300, 0)
    made = LogitRescaler("temperature", {"criterion": "grid-ece"}).fit(z, labels)
    inside = Temperature.fit(z, labels, criterion="grid-ece")
    assert made.rescaler_ == inside
    assert np.array_equal(made.predict_proba(z), inside.transform(z))
    assert clone(made).get_params() == made.get_params()


def test_features_stand_after_the_logits() -> None:
    z, labels = drawn(300, 1)
    features = np.random.default_rng(2).standard_normal((300, 4))
    made = LogitRescaler("procal", logits=3).fit(np.concatenate([z, features], axis=1), labels)
    inside = ProCal.fit(z, labels, features=features)
    ours = made.predict_proba(np.concatenate([z, features], axis=1))
    assert np.array_equal(ours, inside.transform(z, features=features))


def test_names_of_classes() -> None:
    z, labels = drawn(200, 3)
    names = np.array(["ant", "bee", "cat"])
    plain = LogitRescaler("platt").fit(z, labels)
    named = LogitRescaler("platt").fit(z, names[labels])
    assert named.classes_.tolist() == names.tolist()
    assert np.array_equal(named.predict(z), names[plain.predict(z)])
    # In the order of the network, which is not the alphabet's; and one class unseen.
    other = LogitRescaler("platt", classes=names[[2, 0, 1]])
    shown = labels > 0
    other.fit(z[shown][:, [2, 0, 1]], names[labels[shown]])
    known = LogitRescaler("platt").fit(z[shown], labels[shown])
    assert np.allclose(other.predict_proba(z[:, [2, 0, 1]])[:, [1, 2, 0]], known.predict_proba(z))
    for wrong, y, message in (
        ({"classes": ["ant", "bee"]}, names[labels], "name each column once"),
        ({"classes": ["ant", "bee", "dog"]}, names[labels], "name each column once"),
        ({}, names[np.minimum(labels, 1)], "one column"),
        ({"logits": 4}, labels, "give fewer"),
        ({"method": "plat"}, labels, "did you mean 'platt'"),
        ({"knobs": {"bins": 3}}, labels, "no knob 'bins'"),
    ):
        with pytest.raises(BadInput, match=message):
            LogitRescaler(**{"method": "platt", **wrong}).fit(z, y)


def test_grid_search_over_methods() -> None:
    z, labels = drawn(300, 4)
    grid = {"method": ["temperature", "histogram"]}
    found = GridSearchCV(LogitRescaler(), grid, scoring="neg_log_loss", cv=3).fit(z, labels)
    assert found.best_params_ == {"method": "temperature"}


def test_temperature_as_scikit_learn() -> None:
    generator = np.random.default_rng(5)
    x = generator.standard_normal((400, 3))
    labels = (x + generator.gumbel(size=x.shape)).argmax(1)
    network = LogisticRegression(C=1e6).fit(x[:60], labels[:60])
    theirs = CalibratedClassifierCV(FrozenEstimator(network), method="temperature")
    theirs.fit(x[60:], labels[60:])
    ours = LogitRescaler().fit(network.decision_function(x[60:]), labels[60:])
    probs = ours.predict_proba(network.decision_function(x))
    assert np.allclose(probs, theirs.predict_proba(x), atol=1e-4)


def test_only_this_file_needs_scikit_learn() -> None:
    code = (
        "import sys, numpy as np; from mixcal.judging.rescaling.registry import RESCALERS\n"
        "z = np.random.default_rng(0).standard_normal((50, 3))\n"
        "for kind in RESCALERS.values():\n"
        "    more = {'features': z} if 'procal' in kind.__module__ else {}\n"
        "    kind.fit(z, np.arange(50) % 3, **more)\n"
        "print('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
