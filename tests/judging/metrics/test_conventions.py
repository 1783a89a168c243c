"""Conventions by name against what the packages themselves computed on the same arrays."""

import math
from functools import cache

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions
from mixcal.judging.metrics.conventions import CONVENTIONS, convention
from mixcal.judging.summary import summarized
from tests.support.reference import SINGLE, arrays, of_peer

DATA = {"k10_n2000": 15, "edges_k8_n51": 8, "ties_k4_n600": 15, "small_k4_n10": 15}
DOUBLE = {"rel": 1e-12, "abs": 1e-15}
# Convention, our name, the name in the record, the package there, how exactly.
PEERS = [
    ("torchmetrics", "ece", "ece_{}_left_closed", "torchmetrics 1.9.0", SINGLE),
    ("torchmetrics", "mce", "mce_{}_left_closed", "torchmetrics 1.9.0", SINGLE),
    ("torchmetrics", "rms_ce", "rmsce_{}_left_closed", "torchmetrics 1.9.0", SINGLE),
    (
        "torchmetrics",
        "debiased_ece",
        "rmsce_debiased_{}",
        "torchmetrics private _ce_compute(debias=True) 1.9.0",
        SINGLE,
    ),
    ("torch-uncertainty", "ece", "ece_{}_left_closed", "torch-uncertainty 0.13.0", SINGLE),
    (
        "torch-uncertainty",
        "classwise_ece",
        "classwise_ece_{}_mean",
        "torch-uncertainty 0.13.0",
        SINGLE,
    ),
    ("torch-uncertainty", "brier", "brier_sum", "torch-uncertainty 0.13.0", SINGLE),
    ("torch-uncertainty", "smooth_ece", "smece", "torch-uncertainty float32 0.13.0", SINGLE),
    ("netcal", "ece", "ece_{}_left_closed", "netcal 1.4.0", DOUBLE),
    ("netcal", "mce", "mce_{}_left_closed", "netcal 1.4.0", DOUBLE),
    ("netcal", "ace", "ace_{}", "netcal 1.4.0", DOUBLE),
    ("relplot", "ece", "ece_{}_left_closed", "relplot binnedECE 1.0.3", DOUBLE),
    ("relplot", "smooth_ece", "smece", "relplot 1.0.3", DOUBLE),
    (
        "uncertainty-calibration",
        "ece",
        "ece_{}_right_closed",
        "uncertainty-calibration 0.1.4",
        DOUBLE,
    ),
    (
        "uncertainty-calibration",
        "rms_ce",
        "rmsce_{}_right_closed",
        "uncertainty-calibration 0.1.4",
        DOUBLE,
    ),
    (
        "uncertainty-calibration",
        "debiased_ece",
        "rmsce_debiased_{}",
        "uncertainty-calibration 0.1.4",
        DOUBLE,
    ),
    (
        "uncertainty-calibration",
        "adaptive_ece",
        "adaece_{}_split",
        "uncertainty-calibration get_ece_em 0.1.4",
        DOUBLE,
    ),
    (
        "uncertainty-calibration",
        "classwise_ece",
        "classwise_ece_{}_mean",
        "uncertainty-calibration marginal p=1 0.1.4",
        DOUBLE,
    ),
    ("mapie", "ece", "ece_{}_right_closed", "MAPIE(num_bins=n,uniform) 1.6.0", DOUBLE),
    ("scikit-learn", "nll", "nll", "scikit-learn log_loss 1.9.1", DOUBLE),
]


@cache
def under(name: str, like: str, bins: int) -> dict:
    found = arrays(name)
    made = Predictions.of(found["labels"], probs=found["probs"])
    return summarized(made, bins=bins, like=like)["metrics"]


@pytest.mark.parametrize(
    ("like", "ours", "theirs", "peer", "tolerance"), PEERS, ids=lambda value: str(value)[:24]
)
def test_numbers_of_the_packages(
    like: str, ours: str, theirs: str, peer: str, tolerance: dict
) -> None:
    for name, bins in DATA.items():
        found = under(name, like, bins)[ours]["value"]
        right = of_peer(name, theirs.format(bins), peer)
        assert found == pytest.approx(right, **tolerance), name


@pytest.mark.parametrize("name", ["k10_n2000", "edges_k8_n51"])
def test_equal_mass_without_ties_on_the_cuts(name: str) -> None:
    # Where ties lie on a cut, torch-uncertainty's unstable sort decides and netcal raises.
    bins = DATA[name]
    for like, peer, tolerance in (
        ("torch-uncertainty", "torch-uncertainty 0.13.0", SINGLE),
        ("netcal", "netcal(equal_intervals=False) 1.4.0", DOUBLE),
    ):
        right = of_peer(name, f"adaece_{bins}_split", peer)
        assert under(name, like, bins)["adaptive_ece"]["value"] == pytest.approx(right, **tolerance)


def test_edges_for_bins() -> None:
    # num_bins = n + 1 makes MAPIE cut n bins; equal mass then has the minimum in one of its own.
    for name, bins in DATA.items():
        found = under(name, "mapie", bins + 1)
        for ours, kind in (("ece", "uniform"), ("adaptive_ece", "quantile")):
            metric = f"ece_{bins}_right_closed" if ours == "ece" else f"adaece_{bins}_split"
            right = of_peer(name, metric, f"MAPIE(num_bins=n+1,{kind}) 1.6.0")
            assert found[ours]["value"] == pytest.approx(right, **DOUBLE), (name, ours)


def test_the_paper_line_drops_the_least_confident_and_exact_zeros() -> None:
    # From the record of running the released codes (475422a).
    for name, value in (("k10_n2000", 0.11310), ("small_k4_n10", 0.394), ("ties_k4_n600", 0.1227)):
        digits = 1e-3 if name == "small_k4_n10" else 6e-5
        found = under(name, "focal_calibration", 15)["adaptive_ece"]["value"]
        assert found == pytest.approx(value, abs=digits), name
    classwise = under("ties_k4_n600", "focal_calibration", 15)["classwise_ece"]["value"]
    assert classwise == pytest.approx(0.0626, abs=5e-5)


def test_trapezoids() -> None:
    for name in ("k10_n2000", "small_k4_n10"):
        right = of_peer(name, "aurc_mean_risk", "torch-uncertainty 0.13.0")
        found = under(name, "torch-uncertainty", 15)["aurc"]["value"]
        assert found == pytest.approx(right, **SINGLE), name


def test_factors_by_hand() -> None:
    probs = np.array([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1]])
    labels = np.array([0, 2])
    plain, pycalib = (
        summarized(Predictions.of(labels, probs=probs), like=like)["metrics"]
        for like in ("mixcal", "pycalib")
    )
    assert plain["brier"]["value"] == pytest.approx(0.70)
    assert pycalib["brier"]["value"] == pytest.approx(0.70 / 3)
    assert pycalib["classwise_ece"]["value"] == pytest.approx(3 * plain["classwise_ece"]["value"])
    two = Predictions.of(labels // 2, probs=np.array([[0.7, 0.3], [0.6, 0.4]]))
    half = summarized(two, like="scikit-learn")["metrics"]["brier"]["value"]
    assert half == pytest.approx((0.3**2 + 0.6**2) / 2)


def test_overconfidence_times_confidence_and_maximum_times_share() -> None:
    plain = under("k10_n2000", "mixcal", 15)
    weighted = under("k10_n2000", "rankmixup", 15)
    assert weighted["oe"]["value"] == plain["oe_weighted"]["value"] < plain["oe"]["value"]
    assert weighted["ue"]["value"] == plain["ue_weighted"]["value"] < plain["ue"]["value"]
    largest = under("k10_n2000", "proximity_bias", 15)["mce"]["value"]
    assert largest == pytest.approx(0.023, abs=5e-4)


def test_every_convention_answers_everything_and_states_where_it_is_from() -> None:
    for rules in CONVENTIONS:
        found = under("k10_n2000", rules.name, rules.bins)
        for name, numbers in found.items():
            assert math.isfinite(numbers["value"]), (rules.name, name)
            assert numbers["low"] <= numbers["value"] <= numbers["high"], (rules.name, name)
        assert rules.about


def test_names_forgive_spelling_only() -> None:
    assert convention("Focal_Calibration").name == "focal-calibration"
    with pytest.raises(BadInput, match="did you mean 'netcal'"):
        convention("net-cal")
    with pytest.raises(BadInput, match="known are mixcal, torchmetrics"):
        convention("excel")
