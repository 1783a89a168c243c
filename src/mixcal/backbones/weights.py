"""Weights from a file into a network: a published one's, or those of an earlier run.

A safetensors file, or a .pth/.pt file that torch can read without running anything in it. Names are
translated by the family's own list of patterns. A head of another size is left at its
initialization, and a warning says so; every other difference is an error.
"""

import pickle
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from mixcal.core.errors import BadInput

N = TypeVar("N", bound=nn.Module)

Renaming = Sequence[tuple[str, str]]
"""Patterns and replacements, applied in this order to every name of a file."""

HEAD = "head."
# Where training scripts keep the weights in a larger record, the averaged ones first.
RECORDS = ("ema_model", "state_dict", "model")


def with_weights(network: N, file: str, renaming: Renaming = ()) -> N:
    """The network with the weights of the file in it; with no file named, as it is."""
    if not file:
        return network
    path = Path(file).expanduser()
    return with_tensors(network, _read(path), renaming, where=str(path))


def with_tensors(network: N, tensors: Mapping[str, Tensor], renaming: Renaming, *, where: str) -> N:
    """The network with these weights in it."""
    found = _renamed(tensors, renaming)
    wanted = network.state_dict()
    head = {name: tensor for name, tensor in found.items() if name.startswith(HEAD)}
    own_head = {name: tensor for name, tensor in wanted.items() if name.startswith(HEAD)}
    body = {name: tensor for name, tensor in found.items() if name not in head}
    _check_finite(where, found)
    _compare(where, body, {name: t for name, t in wanted.items() if name not in own_head}, network)
    if _shapes(head) == _shapes(own_head):
        body |= head
    else:
        warnings.warn(
            f"{where} has {_described(head)}; this network's own, {_described(own_head)}, "
            "begins with its own initialization.",
            stacklevel=4,
        )
    network.load_state_dict(body, strict=False)
    return network


def _read(path: Path) -> dict[str, Tensor]:
    if path.suffix not in (".safetensors", ".pth", ".pt"):
        raise BadInput(f"{path} is no weights file; name a .safetensors, .pth or .pt file.")
    if not path.is_file():
        raise BadInput(f"There is no weights file {path}; check the path.")
    if path.suffix == ".safetensors":
        try:
            return load_file(path)
        except (SafetensorError, OSError) as error:
            raise BadInput(f"{path} cannot be read as safetensors ({error}).") from None
    try:
        record = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise BadInput(
            f"{path} is damaged or holds more than tensors, and reading that could run foreign "
            "code; save its state_dict as safetensors."
        ) from None
    except (OSError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise BadInput(f"{path} cannot be read as weights ({_first_line(error)}).") from None
    return _tensors(path, record)


def _tensors(path: Path, record: Any) -> dict[str, Tensor]:
    """The tensors of a state dict, or of the one that a larger record holds."""
    if isinstance(record, Mapping):
        for name in RECORDS:
            if isinstance(record.get(name), Mapping):
                return _tensors(path, record[name])
        if record and all(isinstance(value, Tensor) for value in record.values()):
            return {str(name): value for name, value in record.items()}
    raise BadInput(f"{path} holds no weights by name; save a state_dict as safetensors.")


def _renamed(tensors: Mapping[str, Tensor], renaming: Renaming) -> dict[str, Tensor]:
    # Data-parallel training puts "module." before every name.
    parallel = all(name.startswith("module.") for name in tensors)
    renamed = {}
    for name, tensor in tensors.items():
        new = name.removeprefix("module.") if parallel else name
        for pattern, replacement in renaming:
            new = re.sub(pattern, replacement, new)
        renamed[new] = tensor
    return renamed


def _compare(
    where: str, found: Mapping[str, Tensor], wanted: Mapping[str, Tensor], network: nn.Module
) -> None:
    """An error that names the first difference and counts the rest."""
    # Files from before torch 0.4 do not count batches.
    missing = [n for n in wanted if n not in found and not n.endswith("num_batches_tracked")]
    faults = [f"it lacks {name!r}" for name in missing]
    faults += [f"it has {name!r}, which the network lacks" for name in found if name not in wanted]
    faults += [
        f"its {name!r} is {tuple(tensor.shape)} and not {tuple(wanted[name].shape)}"
        for name, tensor in found.items()
        if name in wanted and tensor.shape != wanted[name].shape
    ]
    if faults:
        more = f" ({len(faults) - 1} more differences)" if len(faults) > 1 else ""
        raise BadInput(
            f"{where} does not fit {type(network).__name__}: {faults[0]}{more}; "
            "name the backbone the file was made with, with its stem and channels."
        )


def _check_finite(where: str, tensors: Mapping[str, Tensor]) -> None:
    """Refuse weights that are no numbers: no run could begin from them."""
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise BadInput(
                f"{where}: its {name!r} holds values that are not finite; the training that wrote "
                "it had failed. Name the file of an earlier epoch."
            )


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in tensors.items()}


def _described(head: Mapping[str, Tensor]) -> str:
    matrices = [tensor for tensor in head.values() if tensor.ndim == 2]
    if not matrices:
        return "no head"
    return f"a head {' → '.join(str(n) for n in reversed(matrices[-1].shape))}"


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
