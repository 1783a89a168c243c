"""Every number a recipe can give, at −1, 0, NaN and ±∞: refused, or its meaning is listed."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest

from mixcal.catalog import ENTRIES, Entry, settled
from mixcal.core.errors import BadInput
from mixcal.core.quantities import Range, Rising
from mixcal.recipe import Recipe, recipe_from
from mixcal.recipe_check import checked

AWKWARD = (-1, 0, math.nan, math.inf, -math.inf)
# Seeds are names; a negative one is one more.
ANY_WHOLE = {"method.seed", "method.data.split_seed"}
# Below zero means something.
NEGATIVE = {"calibrator unimix.tau": "rare classes are drawn more often"}
# A Dirichlet or Beta distribution has none.
REFUSED = {
    "calibrator augmix.alpha",
    "calibrator calibratemix.alpha",
    "calibrator random-mixup.alpha",
    # Margins would stay as they began.
    "calibrator calibratemix.rate",
    # Logits are divided by it.
    "calibrator cals.margin",
}
OFF = "never, nothing, or no effect"
ZERO = {
    "method.epoch_steps": "as many as is usual",
    "method.equal_data": "epochs stay as long",
    "method.averaging_decay": "no averaging",
    "method.data.image_size": "as they are",
    "method.data.train_limit": "all",
    "method.views.size": "as they are",
    "method.views.padding_fraction": OFF,
    "method.views.cutout": OFF,
    "method.optimizer.learning_rate": "nothing moves: the network as it was drawn",
    "method.optimizer.momentum": OFF,
    "method.optimizer.betas": OFF,
    "method.optimizer.rho": OFF,
    "method.optimizer.weight_decay": OFF,
    "method.optimizer.clip_norm": OFF,
    "method.optimizer.body_rate_factor": "only the head learns",
    "method.optimizer.head_max_norm": OFF,
    "method.schedule.cycles": "a constant rate",
    "method.schedule.warmup_steps": OFF,
    "method.schedule.warmup_epochs": OFF,
    "running.threads": "as torch takes by itself",
    "running.workers": OFF,
    "running.memory_megabytes": "nothing is kept in memory",
    "running.log_every": OFF,
    "running.evaluate_every": OFF,
    "running.checkpoint_every": "only at the end",
    "running.log_bins": OFF,
    "algorithm fixmatch.threshold": "everything is kept",
    "algorithm flexmatch.threshold": "everything is kept",
    "algorithm softmatch.momentum": "this batch alone",
    "calibrator random-mixup.gamma": "the second image alone",
    "calibrator calibratemix.gamma": "the second image alone",
    "calibrator calibratemix.k": "any partner, however alike",
    "calibrator calibratemix.delta": "margins stay as they began",
    "calibrator focal.epochs": "from the beginning",
    "calibrator augmix.depth": "drawn for every chain",
    "calibrator csm.sets": "all",
    "calibrator remix.tau": "targets as in mixup",
    "calibrator unimix.tau": "every class alike",
}
# Weights, exponents and rates of methods: at 0 the method, or a part of it, is off.
OFF_AT_ZERO = (
    *("weight", "alpha", "gamma", "gammas", "gamma_low", "beta", "eta", "strength", "margin"),
    *("epsilon", "threshold_cap", "probability", "unlabeled_weight", "mix_weight", "rate"),
    *("discrimination_weight", "exclusion_weight", "warmup_steps", "warmup_fraction"),
    *("dropout", "end_dropout", "attention_dropout", "path_dropout"),
)


def numbers(hint: Any) -> Iterator[tuple[type, Any]]:
    """The kinds of number an annotation allows, and how one stands in a value of it."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        yield from numbers(inner[0])
    elif hint in (int, float):
        yield hint, lambda number: number
    elif isinstance(origin, type) and issubclass(origin, Sequence):
        count = 1 if len(inner) == 1 or inner[1] is Ellipsis else len(inner)
        for kind, _ in numbers(inner[0]):
            yield kind, lambda number: [number] * count
    elif origin is not None:
        for option in inner:
            if isinstance(option, type) or get_args(option):
                yield from numbers(option)


def of_recipe(kind: type, path: str = "") -> Iterator[tuple[str, Any]]:
    hints = get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        if dataclasses.is_dataclass(hint) and field.name not in ("backbone", "algorithm"):
            yield from of_recipe(hint, f"{path}{field.name}.")
        else:
            yield f"{path}{field.name}", hint


def of_entry(entry: Entry) -> Iterator[tuple[str, Any]]:
    hints = get_type_hints(entry.factory(), include_extras=True)
    for knob in entry.knobs():
        yield f"{entry.kind} {entry.name}.{knob}", hints[knob]


KEYS = [
    *of_recipe(Recipe),
    *(pair for entry in ENTRIES for pair in of_entry(entry)),
]
CASES = [
    pytest.param(key, stands(number), number, id=f"{key}={number}")
    for key, hint in KEYS
    for kind, stands in numbers(hint)
    for number in AWKWARD
    if kind is float or math.isfinite(number)
]


def given(key: str, value: Any) -> None:
    """Say it in a recipe, or to the catalog."""
    kind, _, knob = key.partition(" ")
    if knob:
        name, _, knob = knob.rpartition(".")
        settled(kind, name, {knob: value})
        return
    record: Any = value
    for part in reversed(key.split(".")):
        record = {part: record}
    if key not in ("method.steps", "method.epochs"):
        record.setdefault("method", {})["steps"] = 10
    recipe_from(record, where="here")


def meaning(key: str, number: float) -> str:
    if key in ANY_WHOLE and math.isfinite(number):
        return "a seed"
    if number == -1:
        return NEGATIVE.get(key, "")
    if number == 0:
        method = key not in REFUSED and " " in key and key.rpartition(".")[2] in OFF_AT_ZERO
        return ZERO.get(key, OFF if method else "")
    return ""


@pytest.mark.parametrize(("key", "value", "number"), CASES)
def test_it_is_refused_or_means_something(key: str, value: Any, number: float) -> None:
    if meaning(key, number):
        given(key, value)
        return
    with pytest.raises(BadInput, match=rf"{key.rpartition('.')[2]}(\[0\])? is .*; it must be"):
        given(key, value)


def test_the_sweep_reaches_every_kind_of_key() -> None:
    swept = {key for key, _, _ in (case.values for case in CASES)}
    assert len(swept) > 130
    assert swept >= {
        "method.views.aspect",
        "method.data.head_count",
        "running.checkpoint_every",
        "calibrator arc.bins",
        "backbone swin-v2.depths",
        "algorithm softmatch.deviations",
    }
    assert set(ZERO) | set(NEGATIVE) <= swept


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("method.views.area", [2.0, 3.0], r"area\[0\] is 2.0; it must be above 0 and at most 1"),
        ("method.views.area", [0.9, 0.1], r"area is \(0.9, 0.1\); it must be in rising order"),
        ("method.views.aspect", [-1, 0], r"aspect\[0\] is -1.0; it must be above 0"),
        ("method.views.padding_fraction", 5.0, "padding_fraction is 5.0; .* below 1"),
        ("method.views.cutout", 1.5, "cutout is 1.5; it must be at least 0 and at most 1"),
        ("method.data.label_fraction", 1.5, "label_fraction is 1.5; .* at most 1"),
        ("method.data.imbalance", 0.5, "imbalance is 0.5; it must be at least 1"),
        ("algorithm fixmatch.threshold", 2.0, "threshold is 2.0; .* at most 1"),
        ("algorithm softmatch.momentum", 3.0, "momentum is 3.0; .* below 1"),
        ("calibrator arc.bins", [5, 0], r"bins\[1\] is 0; it must be at least 1"),
        ("calibrator csm.s", 0.0, "s is 0.0; it must be above 0"),
        ("calibrator csm.n_aug", 4, "n_aug is 4; it must be at least 1 and at most 3"),
    ],
)
def test_too_much_is_refused_too(key: str, value: Any, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        given(key, value)


def test_ranges_by_hand() -> None:
    assert Range(0, 1, above=True).refusal(1.0) == ""
    assert Range(0, 1, above=True).refusal(0.0) == "above 0 and at most 1"
    assert Range(most=0).refusal(0.5) == "at most 0"
    assert Range().refusal(math.nan) == "a finite number"
    assert Rising().refusal((1, 1, 2)) == ""
    assert Rising().refusal((2, 1)) == "in rising order"


def test_another_kind_is_still_said_as_such() -> None:
    with pytest.raises(BadInput, match="bins is 'x'; it must be a list"):
        checked(
            dict(of_entry(next(e for e in ENTRIES if e.name == "arc")))["calibrator arc.bins"],
            "x",
            where="here",
            path="bins",
        )
