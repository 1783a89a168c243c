"""Groups against means, spreads and Student's t worked out by hand."""

import math

import pytest

from mixcal.core.errors import BadInput
from mixcal.judging.comparison.groups import (
    baseline_group,
    best_of,
    compared_groups,
    grouped,
    welch,
)
from tests.support.contenders import recipe_of, with_numbers

ALGORITHM = ["method.algorithm.name"]
# Errors by seed: the differences are 0.01, 0.02 and 0.06.
FIX = [
    with_numbers(f"f{s}", recipe_of("fixmatch", s), error=e)
    for s, e in ((1, 0.3), (2, 0.2), (3, 0.1))
]
SOFT = [
    with_numbers(f"s{s}", recipe_of("softmatch", s), error=e)
    for s, e in ((3, 0.16), (1, 0.31), (2, 0.22))
]
# The 97.5 % point of Student's t with two degrees of freedom.
T_TWO = 4.302652729911275


def board(runs, keys=ALGORITHM, **more):
    groups = grouped(runs, keys)
    return compared_groups(groups, groups[0], ["error"], heads=keys, **more)


def test_mean_and_standard_deviation_by_hand() -> None:
    first, second = board([*FIX, *SOFT]).lines
    assert (first.labels, first.n, second.n) == (("fixmatch",), 3, 3)
    assert first.cells["error"].value == pytest.approx(0.2)
    assert first.cells["error"].deviation == pytest.approx(0.1)
    assert second.cells["error"].value == pytest.approx(0.23)


def test_the_same_seeds_are_paired_whatever_their_order() -> None:
    gap = board([*FIX, *SOFT]).lines[1].cells["error"].gap
    assert gap is not None
    # Mean 0.03; deviations −0.02, −0.01, 0.03 have the variance 0.0007.
    half = T_TWO * math.sqrt(0.0007 / 3)
    assert (gap.value, gap.low, gap.high) == pytest.approx((0.03, 0.03 - half, 0.03 + half))
    assert gap.how == "3 pairs"
    assert not gap.differs


def test_other_seeds_are_not_paired() -> None:
    gap = board([*FIX, *SOFT[:2]]).lines[1].cells["error"].gap
    assert gap is not None
    assert gap.how == "Welch"
    assert gap.value == pytest.approx(0.035)


def test_welch_agrees_with_scipy() -> None:
    from scipy.stats import ttest_ind

    ours, theirs = [0.31, 0.22, 0.16, 0.4], [0.3, 0.2, 0.1]
    found = welch(ours, theirs, level=0.9)
    expected = ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_a_single_run_has_no_spread_and_no_interval() -> None:
    first, second = board([FIX[0], SOFT[0]]).lines
    assert first.cells["error"].deviation is None
    gap = second.cells["error"].gap
    assert gap is not None
    assert (gap.low, gap.high, gap.how) == (None, None, "single run")
    first, second = board([FIX[0], SOFT[1]]).lines
    gap = second.cells["error"].gap
    assert gap is not None
    assert (gap.value, gap.low, gap.how) == (pytest.approx(0.01), None, "one pair")
    assert not gap.differs


def test_groups_by_several_keys_and_by_lists() -> None:
    recipe = recipe_of("fixmatch", 1)
    recipe["method"]["calibrators"] = [{"name": "calibratemix"}]
    runs = [*FIX, with_numbers("c", recipe, error=0.5)]
    found = grouped(runs, ["method.algorithm.name", "method.calibrators"])
    assert [group.labels for group in found] == [
        ("fixmatch", "none"),
        ("fixmatch", "calibratemix"),
    ]
    assert baseline_group(found, "fixmatch, calibratemix") is found[1]
    with pytest.raises(BadInput, match="no group is called so"):
        baseline_group(found, "calibratemix")


def candidates() -> list:
    """The threshold 0.6 is best on validation and worst on test."""
    test = {(0.95, 1): 0.1, (0.95, 2): 0.2, (0.6, 1): 0.7, (0.6, 2): 0.8}
    return [
        with_numbers(
            f"{threshold}-{seed}", recipe_of("fixmatch", seed, threshold=threshold), error=e
        )
        for (threshold, seed), e in test.items()
    ]


VALIDATION = {"0.95-1": 0.5, "0.95-2": 0.1, "0.6-1": 0.2, "0.6-2": 0.3}


def test_the_best_is_chosen_by_validation_means_and_never_by_test() -> None:
    (group,) = grouped(candidates(), ALGORITHM)
    # Means 0.3 and 0.25, though the best single run has the other threshold.
    best = best_of(group, "error", lambda one: VALIDATION[one.name], mean_over=["method.seed"])
    assert [one.name for one in best.members] == ["0.6-1", "0.6-2"]
    assert (
        "method.algorithm.threshold = 0.6, the best of 2 by validation error (0.2500" in best.note
    )
    highest = best_of(
        group, "accuracy", lambda one: VALIDATION[one.name], mean_over=["method.seed"]
    )
    assert [one.name for one in highest.members] == ["0.95-1", "0.95-2"]


def test_means_over_other_keys_make_other_candidates() -> None:
    (group,) = grouped(candidates(), ALGORITHM)
    by_seed = best_of(
        group, "error", lambda one: VALIDATION[one.name], mean_over=["method.algorithm"]
    )
    # Seeds 1 (mean 0.35) and 2 (0.2) are the candidates now.
    assert [one.name for one in by_seed.members] == ["0.95-2", "0.6-2"]
    alone = best_of(group, "error", lambda one: VALIDATION[one.name], mean_over=["method"])
    assert len(alone.members) == 4
    assert "nothing to choose" in alone.note


def test_networks_and_seeds_pair_together() -> None:
    def runs(algorithm: str, shift: float) -> list:
        made = []
        for i, backbone in enumerate(("small", "wrn")):
            for seed in (1, 2):
                recipe = recipe_of(algorithm, seed)
                recipe["method"]["backbone"]["name"] = backbone
                error = 0.1 * i + 0.01 * seed + shift * (1 + i + seed)
                made.append(with_numbers(f"{algorithm}-{backbone}-{seed}", recipe, error=error))
        return made

    everyone = [*runs("fixmatch", 0.0), *runs("softmatch", 0.01)]
    over = ["method.seed", "method.backbone.name"]
    gap = board(everyone, mean_over=over).lines[1].cells["error"].gap
    assert gap is not None
    assert gap.how == "4 pairs"
    assert gap.value == pytest.approx(0.01 * (2 + 3 + 3 + 4) / 4)
    # By seed alone two runs of a group share a pair.
    gap = board(everyone).lines[1].cells["error"].gap
    assert gap is not None
    assert gap.how == "Welch"


def test_what_belongs_to_no_group() -> None:
    with pytest.raises(BadInput, match="comes with no recipe"):
        grouped([FIX[0], with_numbers("x", {}, error=0.1)], ALGORITHM)
    with pytest.raises(BadInput, match="neither high nor low is best"):
        best_of(grouped(FIX, ALGORITHM)[0], "mean_confidence", lambda _: 0.0, mean_over=[])


def test_an_infinite_number_has_neither_spread_nor_difference() -> None:
    runs = [*FIX, *(with_numbers(f"x{s}", recipe_of("x", s), error=math.inf) for s in (1, 2, 3))]
    cell = board(runs).lines[1].cells["error"]
    assert cell.value == math.inf
    assert cell.deviation is None
    assert cell.gap is None
