"""Studies: a grid of recipes and seeds, run side by side, each finished run a small committed file.

A study is a TOML file:

    [study]
    recipe = "fashion-25"              # what every run starts from
    rows = "docs/evidence/rows/hosts"  # one JSON file a finished run
    seeds = [0, 1, 2]
    set = ["running.threads=1"]        # settings for every run

    [study.axes.host]                  # every combination of one choice of each axis
    supervised = ["method.algorithm=none"]
    fixmatch = ["method.algorithm.name=fixmatch"]

    [study.table]
    against = { host = "supervised" }  # paired differences to this choice

`probes`, `humans`, `ways` and `fit` ask a finished run for more; see study_measures.py.

Its tables stand in the pages of docs/evidence, between markers; see study_pages.py.

What is done is known from the row files, so a study resumes on another machine.
"""

import itertools
import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from mixcal.core.errors import BadInput
from mixcal.recipe import Recipe, read_recipe
from mixcal.recipe_check import built
from mixcal.study_measures import measure, with_further
from mixcal.study_processes import side_by_side

EVALUATED = ("step", "split", "weights", "error", "ece_15", "oe_15", "ue_15", "nll")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What the table of a study shows. `weights` may be several, with "|" between them: a line each
    for runs that have such predictions."""

    metrics: tuple[str, ...] = ("error", "ece_15", "nll")
    weights: str = "averaged, last"
    split: str = "test"
    against: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A grid of runs. `axes`: by axis, by choice, the settings of that choice."""

    recipe: str
    rows: str
    seeds: tuple[int, ...] = (0, 1, 2)
    set: tuple[str, ...] = ()
    axes: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    # {axis = choice} tables; a cell that matches one is left out. Without `why` it makes no sense,
    # and there is no line in the table; with it, the line is blank and says why.
    leave_out: tuple[Mapping[str, str], ...] = ()
    # Words of `mixcal probe`, one text a probe: "--noise", "--foreign svhn", "--hull".
    probes: tuple[str, ...] = ()
    # A file with people's votes on the test samples, below the data folder.
    humans: str = ""
    # Words of `mixcal predict --split test`, one text a way of predicting, for the runs with these
    # choices (none: for all): numbers of their own, with PIECE.
    ways: tuple[str, ...] = ()
    ways_for: Mapping[str, str] = field(default_factory=dict)
    # Whether rows keep the evaluations during training, to be drawn over the epochs.
    curves: bool = False
    # Whether the final network is asked about the labeled rows, too: does it fit them?
    fit: bool = False
    table: Table = field(default_factory=Table)


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of a study: its choices, its seed, its settings."""

    choices: Mapping[str, str]
    seed: int
    settings: tuple[str, ...]

    @property
    def name(self) -> str:
        """As its files are called."""
        parts = [*self.choices.values(), f"s{self.seed}"]
        return "-".join(part.replace("/", "_").replace(" ", "_") for part in parts)


def read_study(path: Path) -> Study:
    """A study from its file."""
    try:
        record = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read as a study ({error}).") from None
    if set(record) != {"study"}:
        raise BadInput(f"{path}: a study is one table, [study].")
    return built(Study, record["study"], where=str(path), path="study.")


def cells(study: Study) -> Iterator[Cell]:
    """Every run, seed by seed so that the first seed of everything is done first."""
    for seed in study.seeds:
        for combination in itertools.product(*(axis.items() for axis in study.axes.values())):
            choices = dict(zip(study.axes, (name for name, _ in combination), strict=True))
            if rule_for(study, choices) is not None:
                continue
            settings = [setting for _, some in combination for setting in some]
            yield Cell(choices, seed, (*study.set, *settings, f"method.seed={seed}"))


def rule_for(study: Study, choices: Mapping[str, str]) -> Mapping[str, str] | None:
    """The rule that leaves a combination out."""
    for rule in study.leave_out:
        if {key: value for key, value in rule.items() if key != "why"}.items() <= choices.items():
            return rule
    return None


def combinations(study: Study) -> dict[tuple[tuple[str, str], ...], str]:
    """Every combination that has a line in the table, and why it is not run, if it is not."""
    found = {}
    for names in itertools.product(*study.axes.values()):
        choices = dict(zip(study.axes, names, strict=True))
        rule = rule_for(study, choices)
        if rule is None or "why" in rule:
            found[tuple(choices.items())] = "" if rule is None else rule["why"]
    return found


def row_path(study: Study, cell: Cell) -> Path:
    """Where a finished run's numbers lie."""
    return Path(study.rows) / f"{cell.name}.json"


def is_done(study: Study, cell: Cell, recipe: Recipe) -> bool:
    """Whether a row exists that the recipe, as it is now, would make again.

    Keys that recipes did not have when the row was made count as unchanged: a new option's default
    is what was done before it existed.
    """
    path = row_path(study, cell)
    if not path.is_file():
        return False
    before = json.loads(path.read_text())["method"]
    return _agrees(before, json.loads(json.dumps(asdict(recipe.method), default=str)))


def _agrees(before: Any, now: Any) -> bool:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        return all(_agrees(value, now.get(key)) for key, value in before.items())
    return bool(before == now)


def run_study(
    path: Path, *, processes: int, into: Path, search: Sequence[Path], only: str = ""
) -> list[str]:
    """Run what is not done yet; the names of the runs that failed."""
    study = read_study(path)
    base = Path(study.recipe)
    waiting = []
    for cell in cells(study):
        recipe = read_recipe(base, cell.settings, search=search)
        if only in cell.name and not is_done(study, cell, recipe):
            waiting.append((cell, recipe))
    print(f"{len(waiting)} runs to go", file=sys.stderr)
    Path(study.rows).mkdir(parents=True, exist_ok=True)
    into.mkdir(parents=True, exist_ok=True)
    jobs = {
        cell.name: (partial(run_cell, study, cell, recipe, into), into / f"{cell.name}.txt")
        for cell, recipe in waiting
    }
    return side_by_side(jobs, processes=processes)


def run_cell(study: Study, cell: Cell, recipe: Recipe, into: Path) -> int:
    """One run and its row; the status of its training."""
    from mixcal.cli import main

    folder = into / cell.name
    resumable = (folder / "recipe.toml").is_file()
    settings = [word for setting in cell.settings for word in ("--set", setting)]
    words = ["--resume", str(folder)] if resumable else [study.recipe, *settings]
    if not resumable:
        words += ["--into", str(folder)]
    began = time.monotonic()
    if status := main(["train", *words]):
        return status
    record = row(cell, recipe, folder)
    if study.curves:
        record["evaluations"] = evaluations(folder)
    ways = study.ways if study.ways_for.items() <= cell.choices.items() else ()
    measure(
        record["numbers"],
        folder,
        probes=study.probes,
        humans=study.humans,
        fit=study.fit,
        ways=ways,
    )
    record["wall_seconds"] = round(time.monotonic() - began, 1)
    part = row_path(study, cell).with_suffix(".part")
    part.write_text(json.dumps(record, indent=1) + "\n")
    part.replace(row_path(study, cell))
    return 0


def row(cell: Cell, recipe: Recipe, folder: Path) -> dict[str, Any]:
    """What is kept of a finished run: recipe hash, seed, commit, numbers."""
    judgement = json.loads((folder / "judgement.json").read_text())
    environment = json.loads((folder / "environment.json").read_text())
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    last: dict[str, Any] = next((line for line in reversed(lines) if "learning_rate" in line), {})
    timing = [
        json.loads(line)["cpu_seconds"]
        for line in (folder / "timing.jsonl").read_text().splitlines()
    ]
    return {
        "choices": dict(cell.choices),
        "seed": cell.seed,
        "recipe": recipe.fingerprint,
        "family": recipe.family,
        "commit": commit(),
        "torch": environment["torch_build"],
        "device": environment["device"],
        "cpu_seconds": round(sum(timing), 2),
        "numbers": with_further(judgement),
        "label_budget": judgement["label_budget"]["total"],
        "last_readings": {k: v for k, v in last.items() if k not in ("step", "learning_rate")},
        "method": json.loads(json.dumps(asdict(recipe.method), default=str)),
    }


def evaluations(folder: Path) -> list[dict[str, Any]]:
    """What the run's log says of every evaluation, in short."""
    lines = map(json.loads, (folder / "log.jsonl").read_text().splitlines())
    return [{key: line[key] for key in EVALUATED} for line in lines if "split" in line]


def commit() -> str:
    """The commit the code stood at, with a plus sign if it had been changed since.

    A copy without its history says it in the variable MIXCAL_COMMIT.
    """
    if told := os.environ.get("MIXCAL_COMMIT"):
        return told
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=10"],
            capture_output=True,
            text=True,
            cwd=Path(__file__).parent,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()
