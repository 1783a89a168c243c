"""Recipes: what a run is, in TOML. `[method]` decides the numbers and is hashed; `[running]` not.

Recipes compose by `extends = [...]`, left to right, then the file's own keys, then `--set`.
Nothing here imports torch: the command line reads recipes before it knows what it will do.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from mixcal.core.errors import BadInput
from mixcal.core.quantities import Amount, Count, ShareBelowOne
from mixcal.data.options import DataOptions, ViewOptions
from mixcal.recipe_check import built
from mixcal.training.options import OptimizerOptions, ScheduleOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Something from the catalog, with its knobs."""

    name: str
    knobs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """What decides the numbers."""

    seed: int = 0
    # Exactly one of these two is given.
    steps: Count | None = None
    epochs: Count | None = None
    # 0: one pass over the labeled rows for supervised training, 1,024 steps otherwise.
    epoch_steps: Amount = 0
    # How many further images go with every labeled one, if epochs are to be shorter for it:
    # supervised epochs then have ⌈N / ((1 + this) · batch)⌉ steps; 0: they stay as they are.
    equal_data: Amount = 0
    batch: Count = 64
    unlabeled_ratio: Count = 7
    precision: Literal["float32", "bf16"] = "float32"
    weak_branch: Literal["joint", "separate"] = "joint"
    # 0: the weights are not averaged.
    averaging_decay: ShareBelowOne = 0.999

    data: DataOptions = field(default_factory=DataOptions)
    views: ViewOptions = field(default_factory=ViewOptions)
    backbone: Named = field(default_factory=lambda: Named(name="small"))
    # None: supervised.
    algorithm: Named | None = None
    calibrators: tuple[Named, ...] = ()
    optimizer: OptimizerOptions = field(default_factory=OptimizerOptions)
    schedule: ScheduleOptions = field(default_factory=ScheduleOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What does not decide the numbers."""

    device: str = "auto"
    # 0: as many as torch takes by itself.
    threads: Amount = 0
    workers: Amount = 4
    data_folder: str = ""
    # Pools up to this size are decoded into memory once.
    memory_megabytes: Amount = 2048
    # A picture that cannot be read stops the run instead of being counted.
    strict: bool = False
    channels_last: bool = True
    compile: bool = False
    log_every: Amount = 100
    evaluate_every: Amount = 5_000
    checkpoint_every: Amount = 5_000
    # Above 0: evaluations also log the sums of so many bins of confidence, for the pictures of how
    # confidence and accuracy go over the epochs.
    log_bins: Amount = 0
    watch_test: bool = False
    # What is fitted on the validation predictions at the end; "none": nothing. It does not touch
    # the weights, and `mixcal rescale` fits another at any time.
    rescaler: str = "temperature"
    tensorboard: bool = False
    # A project's name; empty: no Weights & Biases.
    wandb: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One run."""

    method: Method = field(default_factory=Method)
    running: Running = field(default_factory=Running)

    @property
    def fingerprint(self) -> str:
        """A hash of `[method]` in full, defaults and seed included."""
        return hashed(asdict(self.method))

    @property
    def family(self) -> str:
        """A hash of `[method]` without the seeds: what the runs of one recipe share."""
        record = asdict(self.method)
        record.pop("seed")
        return hashed(record)

    def to_toml(self) -> str:
        """The resolved recipe, every key written out."""
        from mixcal.recipe_text import written

        return written(asdict(self))


def hashed(record: Mapping[str, Any]) -> str:
    """A short hash of plain tables."""
    text = json.dumps(record, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def read_recipe(
    path: Path | None, settings: Sequence[str] = (), *, search: Sequence[Path] = ()
) -> Recipe:
    """The recipe of a file (None: all defaults) under `--set key=value` settings."""
    record = composed(path, search=search) if path is not None else {}
    for setting in settings:
        record = merged(record, parsed_setting(setting))
    record.pop("extends", None)
    record.pop("expected", None)
    return recipe_from(record, where=str(path) if path else "the recipe")


def recipe_from(record: Mapping[str, Any], *, where: str) -> Recipe:
    """A checked recipe from plain tables."""
    recipe = built(Recipe, record, where=where)
    method = recipe.method
    if (method.steps is None) == (method.epochs is None):
        raise BadInput(f"{where}: give method.steps or method.epochs, one of them.")
    if method.equal_data and (method.algorithm or method.epoch_steps):
        raise BadInput(
            f"{where}: method.equal_data shortens supervised epochs; it must be 0 where there is "
            "an algorithm or method.epoch_steps."
        )
    return recipe


def composed(
    path: Path, *, search: Sequence[Path] = (), seen: tuple[Path, ...] = ()
) -> dict[str, Any]:
    """The tables of a file on top of those it extends, left to right."""
    found = located(path, search=search)
    if found in seen:
        raise BadInput(f"{found} extends itself through {seen[-1]}; break the circle.")
    try:
        record = tomllib.loads(found.read_text())
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{found} is not valid TOML: {error}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{found} cannot be read ({error}).") from None
    base: dict[str, Any] = {}
    extended = record.get("extends", [])
    if not isinstance(extended, list) or not all(isinstance(name, str) for name in extended):
        raise BadInput(f"{found}: extends is {extended!r}; give a list of files, each a text.")
    for name in extended:
        base = merged(base, composed(found.parent / name, search=search, seen=(*seen, found)))
    return merged(base, {key: value for key, value in record.items() if key != "extends"})


def located(path: Path, *, search: Sequence[Path] = ()) -> Path:
    """A recipe by path, or by its name within the search folders."""
    candidates = [path, Path(f"{path}.toml")]
    for folder in search:
        candidates += [folder / path, folder / f"{path}.toml"]
        # A folder that is named must be there: another recipe of that name is not meant.
        if len(path.parts) == 1:
            candidates += sorted(folder.rglob(f"{path.name}.toml"))
    for candidate in candidates:
        if candidate.is_file():
            return candidate.resolve()
    raise BadInput(f"There is no recipe {path}; `mixcal recipes` lists those that come along.")


def merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """Tables merge key by key; everything else is replaced.

    A table with another `name` replaces the old one whole: knobs of one method mean nothing to
    another. Entries of a list are reached by their names: `calibrators.csm.s` is a knob of the
    calibrator "csm" that is there.
    """
    result = dict(base)
    for key, value in change.items():
        old = result.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            renamed = "name" in value and "name" in old and value["name"] != old["name"]
            result[key] = dict(value) if renamed else merged(old, value)
        elif isinstance(value, Mapping) and isinstance(old, list):
            result[key] = _merged_by_name(old, value, key)
        else:
            result[key] = value
    return result


def _merged_by_name(old: Sequence[Any], change: Mapping[str, Any], key: str) -> list[Any]:
    """A list of named tables with some of them changed."""
    names = [entry.get("name") for entry in old if isinstance(entry, Mapping)]
    for name, value in change.items():
        if name not in names or not isinstance(value, Mapping):
            raise BadInput(
                f"{key}.{name}: there is no {name!r} in `{key}` whose knobs could be changed; it "
                f"holds {', '.join(map(str, names)) or 'nothing'}."
            )
    return [merged(e, change[e["name"]]) if e["name"] in change else e for e in old]


def parsed_setting(text: str) -> dict[str, Any]:
    """`method.seed=1` as nested tables; the value is TOML, or else a plain string."""
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise BadInput(f"--set {text}: write it as key=value, for example method.seed=1.")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value
    for key in reversed(path.strip().split(".")):
        parsed = {key: parsed}
    return parsed
