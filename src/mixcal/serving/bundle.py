"""A bundle: one folder with all it takes to use a trained network, and nothing that runs by itself.

bundle.json            classes, preprocessing, how to build the network, where it came from
weights.safetensors    its weights; bundle.json holds their SHA-256
rescaler.json          where the run has a rescaler
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as to_bytes
from torch import Tensor

from mixcal.core.errors import BadInput
from mixcal.data.preprocessing import Preprocessing
from mixcal.judging.rescaling.registry import Rescaler
from mixcal.judging.rescaling.saving import load_rescaler, save_rescaler

FORMAT = 1
RECORD, WEIGHTS, RESCALER = "bundle.json", "weights.safetensors", "rescaler.json"
BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """What a predictor is made of; `factory` and `knobs` build the network.

    `origin` says for people where the weights come from: run, step, which weights, numbers.
    `flips`: whether a mirrored picture shows the same thing.
    """

    factory: str
    knobs: Mapping[str, Any]
    classes: tuple[str, ...]
    preprocessing: Preprocessing
    tensors: Mapping[str, Tensor]
    rescaler: Rescaler | None = None
    flips: bool = False
    origin: Mapping[str, Any] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Write a new folder, whole or not at all."""
        if path.exists():
            raise BadInput(f"{path} exists already; remove it, or choose another with --into.")
        temporary = path.with_name(f".{path.name}.part")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        try:
            plain = {name: t.detach().cpu().contiguous() for name, t in self.tensors.items()}
            # Not `save_file`: it tells of a full disk in words only.
            (temporary / WEIGHTS).write_bytes(to_bytes(plain))
            if self.rescaler is not None:
                save_rescaler(self.rescaler, temporary / RESCALER)
            record = {
                "format": FORMAT,
                "classes": list(self.classes),
                "preprocessing": self.preprocessing.to_json(),
                "network": {"factory": self.factory, "knobs": dict(self.knobs)},
                "weights_sha256": _sha256(temporary / WEIGHTS),
                "rescaled": self.rescaler is not None,
                "flips": self.flips,
                "origin": dict(self.origin),
            }
            (temporary / RECORD).write_text(json.dumps(record, indent=1) + "\n")
            os.replace(temporary, path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    @classmethod
    def load(cls, path: Path) -> "Bundle":
        """Read what `save` wrote; damage is found before anything is built."""
        record = _record(path)
        weights = path / WEIGHTS
        try:
            if _sha256(weights) != record["weights_sha256"]:
                raise BadInput(f"{weights} is damaged (its SHA-256 differs); export the run again.")
            return cls(
                factory=record["network"]["factory"],
                knobs=record["network"]["knobs"],
                classes=tuple(record["classes"]),
                preprocessing=Preprocessing.from_json(record["preprocessing"]),
                tensors=load_file(weights),
                rescaler=load_rescaler(path / RESCALER) if record["rescaled"] else None,
                flips=record.get("flips", False),
                origin=record.get("origin", {}),
            )
        except (OSError, SafetensorError, KeyError, TypeError) as error:
            raise BadInput(
                f"{path} is a damaged bundle ({type(error).__name__}: {error}); export the run "
                "again."
            ) from None


def is_bundle(path: Path) -> bool:
    """Whether the folder is one that `save` wrote."""
    return (path / RECORD).is_file()


def _record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads((path / RECORD).read_text())
        known = record["format"] == FORMAT
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path} is no bundle ({error}); make one with `mixcal export`.") from None
    if not known:
        raise BadInput(
            f"{path} is a bundle of format {record['format']}, and this mixcal reads format "
            f"{FORMAT}; export the run again."
        )
    return dict(record)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
