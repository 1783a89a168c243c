"""A generator: a network by its options, and the folder that holds a trained one."""

import json
import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mixcal.core.errors import BadInput
from mixcal.recipe_check import built
from mixcal.synthesis.denoiser import Denoiser
from mixcal.synthesis.options import NetworkOptions
from mixcal.training.checkpoints import Checkpoint, digest, read_tensors, write_tensors
from mixcal.training.disk import write_json

PRECISIONS = {"float32": None, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What it takes to build a generator's network and to know what it draws."""

    classes: tuple[str, ...]
    # Height, width, channels.
    shape: tuple[int, int, int]
    network: NetworkOptions
    precision: str
    # Labels were dropped now and then: guidance is possible.
    guidable: bool
    # The split whose labeled images it saw, and which data those are: options, seed.
    splits: str
    data: dict[str, Any]
    seed: int
    license: str = ""
    # The file of published weights that these are; empty for weights of one's own training.
    converted_from: str = ""


def make_network(
    options: NetworkOptions, *, classes: int, shape: tuple[int, int, int]
) -> nn.Module:
    """The raw network F with its initial weights."""
    make: type[nn.Module]
    if options.name == "unet":
        from mixcal.synthesis.unet import UNet as make
    else:
        from mixcal.synthesis.song_unet import SongUNet as make
    try:
        return make(options, classes=classes, channels=shape[2], size=shape[:2])
    except (ValueError, ArithmeticError, RuntimeError) as error:
        # What torch and diffusers think of widths that do not go together.
        reason = str(error).partition("\n")[0][:120]
        raise BadInput(
            f"method.network cannot be built ({reason}); change width, multipliers or attention."
        ) from None


@dataclass(frozen=True, slots=True)
class GeneratorFolder:
    """Paths within a generator's folder."""

    path: Path

    @classmethod
    def create(cls, path: Path, description: Description, *, recipe: str) -> "GeneratorFolder":
        """A new folder; one that exists and holds anything is refused."""
        try:
            taken = path.exists() and (not path.is_dir() or any(path.iterdir()))
            if not taken:
                (path / "checkpoints").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(
                f"{path} cannot be made ({error.strerror}); name another place with --into."
            ) from None
        if taken:
            raise BadInput(
                f"{path} exists already; choose another folder with --into, or go on with "
                f"`mixcal synthesize train --resume {shlex.quote(str(path))}`."
            )
        folder = cls(path)
        folder.recipe.write_text(recipe)
        write_json(folder.description, asdict(description))
        return folder

    @classmethod
    def open(cls, path: Path) -> "GeneratorFolder":
        """A folder that `create` made."""
        if not (path / "generator.json").is_file():
            raise BadInput(
                f"{path} is no generator (no generator.json in it); train one with "
                "`mixcal synthesize train`."
            )
        return cls(path)

    @property
    def recipe(self) -> Path:
        """The resolved recipe."""
        return self.path / "recipe.toml"

    @property
    def description(self) -> Path:
        """How to build the network; its last file to be written when a folder is made."""
        return self.path / "generator.json"

    @property
    def splits(self) -> Path:
        """Which images it was trained on."""
        return self.path / "splits.json"

    @property
    def log(self) -> Path:
        """One JSON object a line."""
        return self.path / "log.jsonl"

    @property
    def timing(self) -> Path:
        """Seconds, apart from the log."""
        return self.path / "timing.jsonl"

    @property
    def checkpoints(self) -> Path:
        """The newest two."""
        return self.path / "checkpoints"

    @property
    def weights(self) -> Path:
        """The averaged weights of the newest checkpoint."""
        return self.path / "weights.safetensors"

    def described(self) -> Description:
        """What the folder's generator is."""
        try:
            record = json.loads(self.description.read_text())
        except (OSError, ValueError) as error:
            raise BadInput(f"{self.description} cannot be read ({error}); restore it.") from None
        where = str(self.description)
        if not isinstance(record, dict) or not isinstance(record.get("network"), dict):
            raise BadInput(f"{where} describes no generator; restore it.")
        network = built(NetworkOptions, record.pop("network"), where=where)
        try:
            return Description(
                **{
                    **record,
                    "classes": tuple(record["classes"]),
                    "shape": tuple(record["shape"]),
                    "network": network,
                }
            )
        except (TypeError, KeyError) as error:
            raise BadInput(f"{where} does not say all it should ({error}); restore it.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Generator:
    """A trained generator, ready to draw."""

    denoiser: Denoiser
    description: Description
    # Of the weights.
    fingerprint: str
    images_seen: int


def save_weights(path: Path, tensors: dict[str, Tensor], *, images_seen: int) -> None:
    """The averaged weights, atomically."""
    write_tensors(path, tensors, {"images_seen": images_seen})


def load_generator(path: Path, device: torch.device, *, precision: str = "") -> Generator:
    """The generator of a folder with its averaged weights; `precision` "" is the recipe's."""
    description = GeneratorFolder.open(path).described()
    network = make_network(
        description.network, classes=len(description.classes), shape=description.shape
    )
    saved = put_weights(path, network)
    network.to(device=device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    network.eval().requires_grad_(False)
    return Generator(
        denoiser=Denoiser(network, autocast=PRECISIONS[precision or description.precision]),
        description=description,
        fingerprint=digest(saved.tensors),
        images_seen=int(saved.record["images_seen"]),
    )


def put_weights(path: Path, network: nn.Module) -> Checkpoint:
    """Put the averaged weights of a folder into a network; what was read."""
    folder = GeneratorFolder.open(path)
    if not folder.weights.is_file():
        raise BadInput(f"{path} has no weights yet; train it until its first checkpoint.")
    saved = read_tensors(folder.weights)
    try:
        network.load_state_dict(dict(saved.tensors))
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise BadInput(f"{folder.weights} does not fit the network ({reason}).") from None
    return saved
