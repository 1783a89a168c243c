"""CalibrateMix's presets: every disputed point with its value (arXiv:2511.12964v1).

"paper" follows the text, "official" the published code where it departs from the text, "anchored"
is the paper's with the labeled member keeping at least half of each mix (ours).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from mixcal.core.errors import BadInput
from mixcal.core.facts import DataFacts
from mixcal.core.protocols import Joins
from mixcal.methods.dynamics.ledger import Average
from mixcal.methods.mixing.coefficients import Draw
from mixcal.methods.mixing.guided import Pairs
from mixcal.methods.mixing.partners import Dissimilarity

Preset = Literal["paper", "official", "anchored"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """One value for each point on which text, code and we may differ."""

    mixed_branch: Literal["own", "with_strong"] = "own"
    passes: Literal["once", "twice"] = "once"
    mix_loss: Literal["cross-entropy", "binary"] = "cross-entropy"
    # "all": one mean over all mixed rows; "each": a mean over each kind of mix, added.
    mix_mean: Literal["all", "each"] = "all"
    # "About 100 epochs" of 1,024 steps.
    warmup_steps: int = 102_400
    # Given, it takes the place of the number of steps.
    warmup_fraction: float | None = None
    pseudo_margins_in_warmup: bool = True
    k: float = 0.05
    dissimilarity: Dissimilarity = "cosine"
    # The text says features; its code compares flattened normalized pixels.
    space: Literal["pixels", "features", "averaged-features"] = "pixels"
    split: Literal["rank", "median"] = "rank"
    median: Literal["batch", "pool"] = "batch"
    alpha: float = 0.4
    gamma: float | None = None
    draw: Draw = "group"
    anchor: Literal["none", "labeled"] = "none"
    pairs: Pairs = "across"
    pseudo_targets: Literal["hard", "soft"] = "hard"
    weight_by_host: bool = False
    average: Average = "decayed"
    delta: float = 0.997
    rate: float = 0.1
    first_visit: Literal[0, 1] = 0


PAPER = Options()
PRESETS: dict[str, Options] = {
    "paper": PAPER,
    "official": replace(
        PAPER,
        passes="twice",
        mix_loss="binary",
        mix_mean="each",
        warmup_steps=150_000,
        pseudo_margins_in_warmup=False,
        k=15,
    ),
    "anchored": replace(PAPER, anchor="labeled"),
}


# Knobs that one kind of average alone has.
ONLY_WITH: dict[str, Average] = {"delta": "decayed", "first_visit": "decayed", "rate": "constant"}


def chosen(preset: Options, knobs: Mapping[str, Any]) -> Options:
    """The preset with the knobs that were given."""
    k = knobs.get("k")
    if k is not None and k > 1 and k != int(k):
        raise BadInput(
            f"calibratemix: k is {k}; below 1 it is a share (0.05 for 5 %), from 1 on a count."
        )
    known = Options.__dataclass_fields__
    given = {name: v for name, v in knobs.items() if v is not None and name in known}
    if "warmup_steps" in given and "warmup_fraction" not in given:
        given["warmup_fraction"] = None
    if knobs.get("warmup_steps") is not None and knobs.get("warmup_fraction") is not None:
        raise BadInput("Give CalibrateMix's warmup_steps or warmup_fraction, not both.")
    options = replace(preset, **given)
    _refuse_idle(options, given)
    return options


def _refuse_idle(options: Options, given: Collection[str]) -> None:
    """No knob that something else makes meaningless."""
    for knob, average in ONLY_WITH.items():
        if knob in given and options.average != average:
            raise BadInput(
                f'calibratemix: {knob} is only of average = "{average}", and the average is '
                f'"{options.average}"; leave one of them out.'
            )
    if "mixed_branch" in given and options.passes == "twice":
        raise BadInput(
            'calibratemix: with passes = "twice" (as in preset "official") the mixed rows go into '
            "the second pass, whatever mixed_branch says; leave one of them out."
        )


def warmup_of(options: Options, facts: DataFacts) -> int:
    """The number of steps before the first mix."""
    if options.warmup_fraction is None:
        return options.warmup_steps
    return round(options.warmup_fraction * facts.steps)


def joins_of(options: Options, facts: DataFacts) -> Joins:
    """How the mixed rows meet the network."""
    if options.passes == "twice":
        return "again"
    if options.mixed_branch == "with_strong":
        return "with_strong"
    if facts.unlabeled == 0 and options.pairs == "all":
        raise BadInput('Supervised training has labeled rows only; leave out pairs = "all".')
    return "after"
