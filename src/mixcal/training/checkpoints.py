"""Checkpoints: everything a run needs to go on, in one safetensors file that no pickle touches."""

import hashlib
import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from mixcal.core.errors import BadInput
from mixcal.core.protocols import Objective
from mixcal.training.averaging import Average
from mixcal.training.disk import write_atomically

KEPT = 2
NAME = re.compile(r"step-(\d{10})\.safetensors")


class Damaged(BadInput):
    """A file of tensors that cannot be read, or is not what was written."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Tensors by name and a small record; the record's "step" counts the steps done."""

    tensors: Mapping[str, Tensor]
    record: Mapping[str, Any]

    @property
    def step(self) -> int:
        """How many steps were done."""
        return int(self.record["step"])


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write it, then drop all but the newest two."""
    path = folder / f"step-{checkpoint.step:010d}.safetensors"
    write_tensors(path, checkpoint.tensors, checkpoint.record)
    for old in _paths(folder)[:-KEPT]:
        old.unlink()
    return path


def write_tensors(path: Path, tensors: Mapping[str, Tensor], record: Mapping[str, Any]) -> None:
    """One safetensors file with a record and a digest of the tensors, atomically."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    # One entry: the library writes several in any order, and equal runs have equal bytes.
    metadata = {"record": json.dumps({**record, "digest": digest(plain)})}

    def write(part: Path) -> None:
        try:
            save_file(plain, part, metadata=metadata)
        except SafetensorError as error:
            # The library reports a full disk as text only.
            number = re.search(r"os error (\d+)", str(error))
            raise OSError(int(number.group(1)) if number else 0, str(error)) from None

    write_atomically(path, write)


def read_tensors(path: Path) -> Checkpoint:
    """What `write_tensors` wrote; damage of any kind is a BadInput."""
    if not path.is_file():
        raise Damaged(f"{path} is not there; restore it.")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 no mapping
        record = json.loads(metadata["record"])
        # Older files have it beside the record.
        stated = record.pop("digest", None) or metadata["digest"]
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise Damaged(f"{path} is damaged ({error}); delete it.") from None
    if digest(tensors) != stated:
        raise Damaged(f"{path} is damaged (its digest does not match); delete it.")
    return Checkpoint(tensors, record)


def newest_checkpoint(folder: Path) -> Checkpoint | None:
    """The newest that can be read; a damaged one is passed over with a warning."""
    for path in reversed(_paths(folder)):
        try:
            return read_tensors(path)
        except BadInput as error:
            warnings.warn(f"{error} Falling back to the one before.", stacklevel=2)
    return None


def oldest_step(folder: Path) -> int:
    """The step of the oldest checkpoint that is kept; 0 if there is none."""
    paths = _paths(folder)
    match = NAME.fullmatch(paths[0].name) if paths else None
    return int(match[1]) if match else 0


def _paths(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("step-*") if NAME.fullmatch(path.name))


def digest(tensors: Mapping[str, Tensor]) -> str:
    """A hash of named tensors."""
    whole = hashlib.blake2b(digest_size=16)
    for name in sorted(tensors):
        whole.update(f"{name}:{tensors[name].dtype}:{tuple(tensors[name].shape)}|".encode())
        whole.update(tensors[name].reshape(-1).view(torch.uint8).numpy().data)
    return whole.hexdigest()


def gather(
    network: nn.Module,
    objective: Objective,
    optimizer: torch.optim.Optimizer,
    average: Average | None,
) -> dict[str, Tensor]:
    """All tensors of a run under one set of names."""
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    tensors |= {f"objective.{name}": value for name, value in objective.state_dict().items()}
    if average is not None:
        tensors |= {f"average.{name}": value for name, value in average.parameters().items()}
    return tensors | gather_optimizer(optimizer)


def gather_optimizer(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """What an optimizer remembers, under names."""
    return {
        f"optimizer.{place}.{name}": torch.as_tensor(value)
        for place, slots in optimizer.state_dict()["state"].items()
        for name, value in slots.items()
        if value is not None
    }


def scatter(
    tensors: Mapping[str, Tensor],
    network: nn.Module,
    objective: Objective,
    optimizer: torch.optim.Optimizer,
    average: Average | None,
) -> None:
    """Put the tensors that `gather` collected back where they came from."""
    network.load_state_dict(under(tensors, "network"))
    objective.load_state_dict(under(tensors, "objective"))
    if average is not None:
        saved = under(tensors, "average")
        with torch.no_grad():
            for name, parameter in average.parameters().items():
                parameter.copy_(saved[name])
    scatter_optimizer(tensors, optimizer)


def scatter_optimizer(tensors: Mapping[str, Tensor], optimizer: torch.optim.Optimizer) -> None:
    """Put back what `gather_optimizer` collected."""
    state: dict[int, dict[str, Tensor]] = {}
    for path, value in under(tensors, "optimizer").items():
        place, name = path.split(".", 1)
        state.setdefault(int(place), {})[name] = value
    whole = optimizer.state_dict()
    optimizer.load_state_dict({"state": state, "param_groups": whole["param_groups"]})


def under(tensors: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    """The tensors below one name, without it."""
    prefix = f"{name}."
    return {key[len(prefix) :]: value for key, value in tensors.items() if key.startswith(prefix)}
