"""Groups of runs by what their recipes say: means ± standard deviations, and their differences.

    paired    d̄ ± t_{n−1} s_d / √n             over pairs, where both groups have the same seeds
    Welch     x̄ − ȳ ± t_ν √(s_x²/n + s_y²/m)    otherwise (Biometrika 1947)

Both say how the means would vary if one trained anew, on these test data. Choosing within a group
reads validation predictions only.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mixcal.core.errors import BadInput
from mixcal.judging.comparison.contenders import Contender
from mixcal.judging.comparison.pairing import check_alike, share_samples
from mixcal.judging.comparison.recipe_keys import check_key, differing, told, within
from mixcal.judging.comparison.scoreboard import (
    HIGHER_IS_BETTER,
    NEUTRAL,
    Cell,
    Gap,
    Line,
    Scoreboard,
)
from mixcal.judging.metrics.intervals import mean_interval, student_quantile

# Runs that differ in nothing else are the same method trained again.
SEED = "method.seed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Runs that say the same under the keys; a note where they were chosen."""

    labels: tuple[str, ...]
    members: tuple[Contender, ...]
    note: str = ""

    @property
    def name(self) -> str:
        """The labels in one."""
        return ", ".join(self.labels)

    def values(self, metric: str) -> list[float]:
        """The metric of every run."""
        return [one.value(metric) for one in self.members]


def grouped(contenders: Sequence[Contender], keys: Sequence[str]) -> list[Group]:
    """The groups in the order in which their first runs were given."""
    for one in contenders:
        if not one.recipe:
            raise BadInput(
                f"{one.path} comes with no recipe, so it belongs to no group; give run folders, or "
                "leave --group-by out."
            )
        check_alike(one, contenders[0])
    for key in keys:
        check_key([one.recipe for one in contenders], key, option="--group-by")
    found: dict[tuple[str, ...], list[Contender]] = {}
    for one in contenders:
        found.setdefault(tuple(told(one.recipe, key) for key in keys), []).append(one)
    return [Group(labels=labels, members=tuple(runs)) for labels, runs in found.items()]


def best_of(
    group: Group, metric: str, valued: Callable[[Contender], float], *, mean_over: Sequence[str]
) -> Group:
    """The runs of the group's best recipe by the mean of `valued`, a metric on validation data.

    Runs whose recipes differ in nothing but the keys of `mean_over` are one recipe.
    """
    if metric in NEUTRAL:
        raise BadInput(f"--best-by {metric}: neither high nor low is best; choose another metric.")
    differ = differing([one.recipe for one in group.members])
    keys = [key for key in differ if not within(key, mean_over)]
    found: dict[tuple[str, ...], list[Contender]] = {}
    for one in group.members:
        found.setdefault(tuple(told(one.recipe, key) for key in keys), []).append(one)
    means = {said: statistics.fmean(map(valued, runs)) for said, runs in found.items()}
    best = (max if metric in HIGHER_IS_BETTER else min)(means, key=lambda said: means[said])
    chosen = ", ".join(f"{key} = {value}" for key, value in zip(keys, best, strict=True))
    note = (
        f"{group.name}: {chosen}, the best of {len(found)} by validation {metric} "
        f"({means[best]:.4f}, mean of {len(found[best])})."
        if keys
        else f"{group.name}: one recipe, nothing to choose."
    )
    return replace(group, members=tuple(found[best]), note=note)


def baseline_group(groups: Sequence[Group], against: str | None) -> Group:
    """The first, or the one of this name."""
    if against is None:
        return groups[0]
    for group in groups:
        if against == group.name:
            return group
    raise BadInput(
        f"--against {against}: no group is called so; name one of "
        f"{'; '.join(group.name for group in groups)}."
    )


def compared_groups(
    groups: Sequence[Group],
    baseline: Group,
    metrics: Sequence[str],
    *,
    heads: Sequence[str],
    mean_over: Sequence[str] = (SEED,),
) -> Scoreboard:
    """One line a group: mean ± s.d. over its runs, and the difference to the baseline's mean."""
    first = baseline.members[0].judged.summary
    level = float(first["level"])
    lines = []
    for group in groups:
        cells = {}
        for metric in metrics:
            values = group.values(metric)
            cells[metric] = Cell(
                value=statistics.fmean(values),
                deviation=spread(values),
                gap=None
                if group is baseline
                else gap(group, baseline, metric, level=level, mean_over=mean_over),
            )
        lines.append(
            Line(
                labels=group.labels,
                n=len(group.members),
                cells=cells,
                baseline=group is baseline,
                members=tuple(one.name for one in group.members),
            )
        )
    return Scoreboard(
        heads=tuple(heads),
        counted="runs",
        metrics=tuple(metrics),
        lines=tuple(lines),
        level=level,
        notes=notes(groups, baseline, lines, mean_over),
    )


def spread(values: Sequence[float]) -> float | None:
    """The standard deviation; of one run, or of infinite numbers, there is none."""
    finite = len(values) > 1 and all(map(math.isfinite, values))
    return statistics.stdev(values) if finite else None


def gap(
    group: Group, baseline: Group, metric: str, *, level: float, mean_over: Sequence[str]
) -> Gap | None:
    """The difference of the means, paired where both groups were trained with the same seeds."""
    ours, theirs = (_by_pair(one, metric, mean_over) for one in (group, baseline))
    values, others = group.values(metric), baseline.values(metric)
    if not all(map(math.isfinite, values + others)):
        return None
    if ours.keys() == theirs.keys() and len(ours) == len(values) and len(theirs) == len(others):
        pairs = np.array([ours[pair] - theirs[pair] for pair in ours])
        found = mean_interval(pairs, level=level)
        if len(pairs) == 1:
            return Gap(value=found.value, how="one pair")
        return Gap(value=found.value, low=found.low, high=found.high, how=f"{len(pairs)} pairs")
    return welch(values, others, level=level)


def welch(ours: Sequence[float], theirs: Sequence[float], *, level: float) -> Gap:
    """The difference of two means of independent runs; without an interval if one is a single."""
    value = statistics.fmean(ours) - statistics.fmean(theirs)
    if min(len(ours), len(theirs)) < 2:
        return Gap(value=value, how="single run")
    parts = [statistics.variance(some) / len(some) for some in (ours, theirs)]
    freedom = [len(some) - 1 for some in (ours, theirs)]
    squares = sum(part**2 / free for part, free in zip(parts, freedom, strict=True))
    whole = sum(parts) ** 2 / squares if squares > 0 else float(sum(freedom))
    half = student_quantile(level, whole) * math.sqrt(sum(parts))
    return Gap(value=value, low=value - half, high=value + half, how="Welch")


def notes(
    groups: Sequence[Group], baseline: Group, lines: Sequence[Line], mean_over: Sequence[str]
) -> tuple[str, ...]:
    """What one has to know to read the lines."""
    everyone = [one for group in groups for one in group.members]
    predictions, summary = everyone[0].judged.predictions, everyone[0].judged.summary
    percent = round(100 * float(summary["level"]))
    ways = {cell.gap.how for line in lines for cell in line.cells.values() if cell.gap is not None}
    means = {
        "Welch": "Welch's t where the groups have different seeds",
        "single run": "no interval from a single run",
        "one pair": "no interval from a single pair",
    }
    said = [f"Student's t over {way}, by {', '.join(mean_over)}" for way in ways - means.keys()]
    said += [text for way, text in means.items() if way in ways]
    found = [
        f"Mean ± s.d. over runs; {predictions.split}, n = {len(predictions):,}, "
        f"{summary['bins']} bins of equal width.",
        f"Δ: minus {baseline.name}, with {percent} % intervals ({'; '.join(sorted(said))}); "
        "* marks intervals that exclude zero.",
        *(group.note for group in groups if group.note),
    ]
    if not share_samples(everyone):
        found.append("The runs were not judged on the same samples.")
    return tuple(found)


def _by_pair(group: Group, metric: str, mean_over: Sequence[str]) -> dict[tuple[str, ...], float]:
    """The metric by seed, or whatever else means are taken over."""
    return {
        tuple(told(one.recipe, key) for key in mean_over): one.value(metric)
        for one in group.members
    }
