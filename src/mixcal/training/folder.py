"""The run folder: everything needed to repeat and to judge a run."""

import json
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from mixcal.core.errors import BadInput
from mixcal.training.disk import unfinished, write_json, write_text

PARTS = ("checkpoints", "predictions", "rescaling")
REPORTED = ("torch", "numpy", "scipy", "scikit-learn", "pillow", "safetensors")


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths within one run's folder."""

    path: Path

    @classmethod
    def create(cls, path: Path, *, recipe: str) -> "RunFolder":
        """A new folder; one that exists and holds anything is refused.

        The recipe comes first: with it a run can go on, whatever else is missing.
        """
        folder = cls(path)
        if path.exists() and (
            not path.is_dir() or set(path.iterdir()) - {unfinished(folder.recipe)}
        ):
            raise BadInput(
                f"{path} exists already; choose another folder with --into, "
                f"or go on with `mixcal train --resume {path}`."
            )
        try:
            path.mkdir(parents=True, exist_ok=True)
            write_text(folder.recipe, recipe)
        except OSError as error:
            raise BadInput(
                f"{path} cannot be made ({error.strerror}); choose another folder with --into."
            ) from None
        return folder

    def equip(self, *, splits: Mapping[str, Any], network: Mapping[str, Any]) -> None:
        """Whatever is still missing of a folder that has its recipe."""
        for part in PARTS:
            (self.path / part).mkdir(exist_ok=True)
        for path, record in (
            (self.path / "environment.json", environment),
            (self.splits, lambda: splits),
            (self.network, lambda: network),
        ):
            if not path.is_file():
                write_json(path, record())

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """A folder that `create` made."""
        if not (path / "recipe.toml").is_file():
            raise BadInput(f"{path} is no run folder (no recipe.toml in it); give a run's folder.")
        return cls(path)

    @property
    def recipe(self) -> Path:
        """The resolved recipe."""
        return self.path / "recipe.toml"

    @property
    def splits(self) -> Path:
        """Which samples were labeled, unlabeled, validation and test."""
        return self.path / "splits.json"

    @property
    def log(self) -> Path:
        """One JSON object a line."""
        return self.path / "log.jsonl"

    @property
    def timing(self) -> Path:
        """Seconds; apart from the log, which is the same for every run of a recipe."""
        return self.path / "timing.jsonl"

    @property
    def checkpoints(self) -> Path:
        """The newest two, and the best by validation."""
        return self.path / "checkpoints"

    @property
    def best(self) -> Path:
        """The weights with the lowest validation error."""
        return self.checkpoints / "best.safetensors"

    @property
    def network(self) -> Path:
        """What `predict` needs: how to build the network and how to prepare its inputs."""
        return self.path / "network.json"

    @property
    def judgement(self) -> Path:
        """The numbers."""
        return self.path / "judgement.json"

    @property
    def report(self) -> Path:
        """The page."""
        return self.path / "report.html"

    def predictions(self, split: str, weights: str = "averaged") -> Path:
        """The predictions on one split."""
        name = split if weights == "averaged" else f"{split}-{weights}"
        return self.path / "predictions" / f"{name}.npz"

    def rescaler(self, name: str, weights: str = "averaged") -> Path:
        """A rescaler fitted on the validation predictions of these weights."""
        end = "" if weights == "averaged" else f"-{weights}"
        return self.path / "rescaling" / f"{name}{end}.json"

    def rescaled(self, split: str, name: str, weights: str = "averaged") -> Path:
        """The predictions on one split after rescaling."""
        return self.predictions(split, name if weights == "averaged" else f"{weights}-{name}")

    def has_checkpoint(self) -> bool:
        """Whether the run has come to a first checkpoint, readable or not."""
        return any(self.checkpoints.glob("step-*"))

    def finished(self) -> bool:
        """Whether the run came to its end."""
        return self.judgement.is_file()

    def read_json(self, path: Path) -> Any:
        """One of the folder's JSON files."""
        try:
            return json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise BadInput(f"{path} cannot be read ({error}); train the run anew.") from None


def environment() -> dict[str, Any]:
    """What the run ran on."""
    import torch

    found: dict[str, Any] = {"python": platform.python_version(), "platform": sys.platform}
    for name in ("mixcal", *REPORTED):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    found["torch_build"] = torch.__version__
    found["machine"] = platform.machine()
    found["cuda"] = torch.version.cuda if torch.cuda.is_available() else None
    found["device"] = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    found["threads"] = torch.get_num_threads()
    return found
