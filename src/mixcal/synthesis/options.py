"""What a generator is made of and how it is trained, in TOML. No torch in here.

`[method]` decides the numbers and is hashed; `[running]` does not.
"""

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from mixcal.core.errors import BadInput
from mixcal.data.options import DataOptions

# Key, least and most; a list is held to it number by number.
RANGES: tuple[tuple[str, float, float], ...] = (
    ("method.images", 1, math.inf),
    ("method.batch", 1, math.inf),
    ("method.learning_rate", 0, math.inf),
    ("method.warmup_images", 0, math.inf),
    ("method.half_life_images", 0, math.inf),
    ("method.half_life_ramp", 0, math.inf),
    ("method.level_mean", -math.inf, math.inf),
    ("method.level_std", 0, math.inf),
    ("method.augmentation", 0, 1),
    ("method.network.width", 1, math.inf),
    ("method.network.multipliers", 1, math.inf),
    ("method.network.blocks", 1, math.inf),
    ("method.network.attention", 1, math.inf),
    ("method.network.patch", 1, math.inf),
    ("method.network.dropout", 0, 1),
    ("running.threads", 0, math.inf),
    ("running.workers", 0, math.inf),
    ("running.memory_megabytes", 0, math.inf),
    ("running.log_every", 1, math.inf),
    ("running.checkpoint_every", 0, math.inf),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkOptions:
    """Width and depth; `attention` lists the sides at which positions look at each other.

    "unet" is diffusers', "ddpm++" and "ncsn++" are the networks of EDM's published weights.
    """

    name: Literal["unet", "ddpm++", "ncsn++"] = "unet"
    width: int = 64
    multipliers: tuple[int, ...] = (1, 2)
    blocks: int = 1
    attention: tuple[int, ...] = ()
    patch: int = 2
    dropout: float = 0.0
    # Takes the nine numbers of `method.augmentation`; not for "unet".
    told_augmentation: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorMethod:
    """What decides the numbers.

    The averaged weights forget half of what they were after `half_life_images`, or, early on,
    after `half_life_ramp` of all images seen so far. Defaults are those of EDM's CIFAR-10 training
    but for the amounts: 200 M images in batches of 512 there.
    """

    seed: int = 0
    images: int = 500_000
    batch: int = 64
    precision: Literal["float32", "bf16"] = "bf16"
    learning_rate: float = 1e-3
    warmup_images: int = 10_000
    half_life_images: int = 50_000
    half_life_ramp: float = 0.05
    # How often a picture is shown without its label; guidance needs more than 0.
    label_dropout: float = 0.1
    # A generator folder whose weights the training begins with.
    start_from: str = ""
    level_mean: float = -1.2
    level_std: float = 1.2
    # How often each operation changes an image; the network must be one that is told.
    augmentation: float = 0.0
    data: DataOptions = field(default_factory=DataOptions)
    network: NetworkOptions = field(default_factory=NetworkOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorRunning:
    """What does not decide the numbers; the keys that mixcal's recipes have mean the same here."""

    device: str = "auto"
    threads: int = 0
    workers: int = 4
    data_folder: str = ""
    memory_megabytes: int = 2048
    strict: bool = False
    log_every: int = 50
    checkpoint_every: int = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorRecipe:
    """One generator."""

    method: GeneratorMethod = field(default_factory=GeneratorMethod)
    running: GeneratorRunning = field(default_factory=GeneratorRunning)

    @property
    def steps(self) -> int:
        """Steps of training."""
        return -(-self.method.images // self.method.batch)

    @property
    def fingerprint(self) -> str:
        """A hash of `[method]` in full."""
        from mixcal.recipe import hashed

        return hashed(asdict(self.method))

    def to_toml(self) -> str:
        """The resolved recipe, every key written out."""
        from mixcal.recipe_text import written

        return written(asdict(self))


def read_generator_recipe(
    path: Path, settings: tuple[str, ...] = (), *, search: tuple[Path, ...] = ()
) -> GeneratorRecipe:
    """The recipe of a file under `--set key=value` settings."""
    from mixcal.recipe import composed, merged, parsed_setting

    record: dict[str, Any] = composed(path, search=search)
    for setting in settings:
        record = merged(record, parsed_setting(setting))
    return generator_recipe_from(record, where=str(path))


def generator_recipe_from(record: dict[str, Any], *, where: str) -> GeneratorRecipe:
    """A checked recipe from plain tables."""
    from mixcal.recipe_check import built

    recipe = built(GeneratorRecipe, record, where=where)
    method = recipe.method
    _check_ranges(asdict(recipe), where=where)
    if not method.network.multipliers:
        raise BadInput(f"{where}: method.network.multipliers is empty; give one for each level.")
    if not 0 <= method.label_dropout < 1:
        raise BadInput(f"{where}: method.label_dropout is {method.label_dropout}; it is in [0, 1).")
    told = method.network.told_augmentation
    if told and method.network.name == "unet":
        raise BadInput(
            f'{where}: method.network.told_augmentation is not for "unet"; take "ddpm++" or '
            '"ncsn++".'
        )
    if method.augmentation and not told:
        raise BadInput(
            f"{where}: method.augmentation is {method.augmentation}, and a network that is not "
            "told would draw augmented images; set method.network.told_augmentation = true."
        )
    return recipe


def _check_ranges(record: dict[str, Any], *, where: str) -> None:
    for path, least, most in RANGES:
        value: Any = record
        for key in path.split("."):
            value = value[key]
        numbers = value if isinstance(value, tuple) else (value,)
        # NaN is outside every range, and no number may be infinite.
        if not all(least <= number <= most and math.isfinite(number) for number in numbers):
            wanted = f"finite and at least {least:g}" if math.isfinite(least) else "finite"
            wanted += f", at most {most:g}" if math.isfinite(most) else ""
            raise BadInput(f"{where}: {path} is {value}; it must be {wanted}.")
