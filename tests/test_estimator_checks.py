"""`CalibratedClassifier` against scikit-learn's own checks, each on pictures one pixel high."""

import os
import subprocess
import sys

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from mixcal import CalibratedClassifier

# What is called with wrong types on purpose runs where nobody checks the types of every call.
ELSEWHERE = "check_do_not_raise_errors_in_init_or_set_params"
# Checks that are not run, and why.
LEFT_OUT = {
    "check_array_api_input": "images are prepared with NumPy; other arrays are not taken",
    "check_classifier_data_not_an_array": "its second half needs pandas, which is not installed",
}


def estimator() -> CalibratedClassifier:
    """Supervised, since the checks have no unlabeled rows; the rest is for speed."""
    return CalibratedClassifier(
        host=None,
        calibrator=None,
        steps=25,
        batch=16,
        image_shape="row",
        # The checks' numbers have no range of their own, and −1 is one of their classes.
        value_range="data",
        unlabeled=None,
        validation_fraction=0,
        backbone="tests.support.little_network:little",
        settings={"method.optimizer.learning_rate": 0.5, "method.views.crop": "none"},
    )


CHECKS = [
    pytest.param(
        check,
        id=f"{number}-{check.func.__name__}",
        marks=[pytest.mark.skip(reason=LEFT_OUT[check.func.__name__])]
        if check.func.__name__ in LEFT_OUT
        else [],
    )
    for number, (_, check) in enumerate(estimator_checks_generator(estimator(), mark=None))
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("check", CHECKS)
def test_scikit_learns_check(check) -> None:
    if check.func.__name__ == ELSEWHERE:
        code = (
            f"from sklearn.utils.estimator_checks import {ELSEWHERE} as check\n"
            "from mixcal import CalibratedClassifier\n"
            "check('CalibratedClassifier', CalibratedClassifier())\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return
    check(estimator())


def test_what_is_left_out_is_left_out_for_the_reason_given() -> None:
    names = {param.id.partition("-")[2] for param in CHECKS}
    assert set(LEFT_OUT) <= names
    assert len(CHECKS) > 50
    assert "SCIPY_ARRAY_API" not in os.environ
