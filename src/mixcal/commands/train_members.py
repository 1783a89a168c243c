"""`mixcal train RECIPE --members M`: several runs of one recipe, and what they are worth together.

The members differ in their seed and see the same splits: an ensemble may not use more labels than
one of its members. All lie in one folder:

members.json    their names, and the recipe they share
s0, s1 …        their run folders
predictions/    the means of their probabilities
rescaling/      what was fitted on the means of their validation predictions
judgement.json  the numbers, beside the mean of the members' own
"""

import argparse
import json
import statistics
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixcal.commands.ways import MEMBERS
from mixcal.core.errors import BadInput
from mixcal.recipe import Recipe, recipe_from
from mixcal.training.folder import RunFolder

if TYPE_CHECKING:
    from mixcal.core.predictions import Predictions

SHOWN = ("error", "ece", "nll", "brier")


@dataclass(frozen=True, slots=True)
class Members:
    """Runs of one recipe in one folder, known by their seeds."""

    path: Path
    recipe: Recipe
    seeds: range

    @classmethod
    def begun(cls, path: Path, recipe: Recipe, count: int) -> "Members":
        """In a new folder, or more of those that are there."""
        if count < 2:
            raise BadInput(f"--members {count}: an ensemble has at least two.")
        first = recipe.method.seed
        data = recipe.method.data
        if data.split_seed is None:
            data = replace(data, split_seed=first)
        recipe = replace(recipe, method=replace(recipe.method, data=data))
        made = cls(path, recipe, range(first, first + count))
        if (path / MEMBERS).is_file():
            made._check(cls.opened(path))
        elif path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise BadInput(f"{path} exists already; choose another folder with --into.")
        made._write()
        return made

    @classmethod
    def opened(cls, path: Path) -> "Members":
        """Those that `begun` wrote down."""
        where = path / MEMBERS
        try:
            record = json.loads(where.read_text())
            recipe = recipe_from(tomllib.loads(record["recipe"]), where=str(where))
            first = recipe.method.seed
            return cls(path, recipe, range(first, first + len(record["members"])))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput(
                f"{where} cannot be read ({type(error).__name__}: {error}); restore it, or train "
                "the members anew."
            ) from None

    def folder(self, seed: int) -> Path:
        """A member's run folder."""
        return self.path / f"s{seed}"

    def of(self, seed: int) -> Recipe:
        """A member's recipe."""
        return replace(self.recipe, method=replace(self.recipe.method, seed=seed))

    def _check(self, before: "Members") -> None:
        same = self.recipe.fingerprint == before.recipe.fingerprint
        if not same or len(self.seeds) < len(before.seeds):
            raise BadInput(
                f"{self.path} holds {len(before.seeds)} members of "
                f"{'this' if same else 'another'} recipe; choose another folder with --into, or go "
                f"on with `mixcal train --resume {self.path}`."
            )

    def _write(self) -> None:
        from mixcal.training.disk import write_json

        self.path.mkdir(parents=True, exist_ok=True)
        names = [self.folder(seed).name for seed in self.seeds]
        write_json(self.path / MEMBERS, {"members": names, "recipe": self.recipe.to_toml()})


def train_members(members: Members) -> int:
    """Train what is not done yet, then predict and judge all of them as one."""
    from mixcal.commands.train import trained
    from mixcal.run import reopen, start
    from mixcal.training.interruption import Interrupted, resumable

    try:
        with resumable(members.path / MEMBERS):
            for place, seed in enumerate(members.seeds, start=1):
                folder = members.folder(seed)
                if (folder / "judgement.json").is_file():
                    continue
                print(f"member {place} of {len(members.seeds)}: {folder}", file=sys.stderr)
                begun = (folder / "recipe.toml").is_file()
                trained(
                    folder,
                    partial(reopen, folder) if begun else partial(start, members.of(seed), folder),
                )
            judgement = conclude_members(members)
    except Interrupted:
        # Whatever one member says: all of them go on together.
        raise Interrupted(members.path, done="Stopped") from None
    _show(judgement)
    print(f"ensemble: {members.path}")
    return 0


def conclude_members(members: Members) -> dict[str, Any]:
    """The means of the members' predictions, rescaled if that helps, and judged."""
    from mixcal.judging.rescaling.held_out import Attempt, fit_if_it_helps
    from mixcal.judging.rescaling.registry import needs_features, rescaled
    from mixcal.judging.rescaling.saving import save_rescaler
    from mixcal.judging.summary import summarized
    from mixcal.training.disk import write_atomically, write_json

    weights = "averaged" if members.recipe.method.averaging_decay else "raw"
    name = members.recipe.running.rescaler
    attempt = Attempt(rescaler=None)
    together = RunFolder(members.path)
    for part in ("predictions", "rescaling"):
        (members.path / part).mkdir(exist_ok=True)
    # What was fitted for fewer members does not hold for more of them.
    together.rescaler(name).unlink(missing_ok=True)
    together.rescaled("test", name).unlink(missing_ok=True)
    judged: dict[str, Any] = {}
    for split in ("validation", "test"):
        whole = _together(members, split, weights)
        if whole is None:
            continue
        write_atomically(together.predictions(split), whole.save)
        judged[split] = {f"ensemble of {len(members.seeds)}": summarized(whole)}
        if split == "validation" and name != "none":
            # Members have no features in common.
            if needs_features(name):
                attempt = Attempt(
                    rescaler=None, remark=f"{name} needs features; an ensemble has none."
                )
            else:
                attempt = fit_if_it_helps(name, whole)
        elif attempt.rescaler is not None:
            after = rescaled(attempt.rescaler, whole)
            write_atomically(together.rescaled(split, name), after.save)
            judged[split][f"ensemble of {len(members.seeds)}, {name}"] = summarized(after)
    if attempt.rescaler is not None:
        write_atomically(together.rescaler(name), partial(save_rescaler, attempt.rescaler))
    first = RunFolder(members.folder(members.seeds[0]))
    judgement = {
        "members": [members.folder(seed).name for seed in members.seeds],
        "recipe": members.recipe.fingerprint,
        "family": members.recipe.family,
        "label_budget": first.read_json(first.judgement)["label_budget"],
        "mean_of_members": mean_of_members(members, weights),
        "judged": judged,
        "rescaling": attempt.remark,
    }
    write_json(together.judgement, judgement)
    return judgement


def _together(members: Members, split: str, weights: str) -> "Predictions | None":
    """The ensemble's predictions on a split that its members have."""
    from mixcal.core.predictions import Predictions
    from mixcal.predicting.ensemble import ensembled

    paths = [RunFolder(members.folder(s)).predictions(split, weights) for s in members.seeds]
    if not all(path.is_file() for path in paths):
        return None
    return ensembled([Predictions.load(path) for path in paths])


def mean_of_members(members: Members, weights: str) -> dict[str, Any]:
    """By split and label: mean and standard deviation of the members' own numbers."""
    found: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for seed in members.seeds:
        folder = RunFolder(members.folder(seed))
        for split, judged in folder.read_json(folder.judgement)["judged"].items():
            for label, summary in judged.items():
                if label.startswith(f"{weights}, last"):
                    found.setdefault(split, {}).setdefault(label, []).append(summary["metrics"])
    return {
        split: {label: _spread(every) for label, every in labels.items()}
        for split, labels in found.items()
    }


def _spread(every: list[Mapping[str, Any]]) -> dict[str, Any]:
    values = {name: [metrics[name]["value"] for metrics in every] for name in SHOWN}
    return {"members": len(every)} | {
        name: {
            "mean": statistics.fmean(some),
            "standard_deviation": statistics.stdev(some) if len(some) > 1 else 0.0,
        }
        for name, some in values.items()
    }


def _show(judgement: dict[str, Any]) -> None:
    """The ensemble's numbers with intervals, below them what a member does on average."""
    from rich.console import Console

    from mixcal.commands.terminal import numbers_table

    console = Console()
    split = "test" if "test" in judgement["judged"] else "validation"
    if split not in judgement["judged"]:
        return
    table = numbers_table(split, judgement["judged"][split], "prediction")
    for label, numbers in judgement["mean_of_members"].get(split, {}).items():
        means = {name: numbers[name]["mean"] for name in SHOWN}
        spread = {name: numbers[name]["standard_deviation"] for name in SHOWN}
        table.add_row(
            f"mean of {numbers['members']} members ± s.d. ({label})",
            f"{100 * means['error']:.2f} ± {100 * spread['error']:.2f}",
            f"{100 * means['ece']:.2f} ± {100 * spread['ece']:.2f}",
            f"{means['nll']:.4f} ± {spread['nll']:.4f}",
            f"{means['brier']:.4f} ± {spread['brier']:.4f}",
        )
    console.print(table)
    if judgement["rescaling"]:
        console.print(judgement["rescaling"], highlight=False)


def asked_for(options: argparse.Namespace) -> bool:
    """Whether the command is about members: by their number, or by a folder that holds some."""
    return options.members is not None or (
        options.resume is not None and (options.resume / MEMBERS).is_file()
    )
