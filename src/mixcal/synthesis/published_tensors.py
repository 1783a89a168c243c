"""Tensors out of the modules of an inert pickle, checked before they are made."""

import io
import math
import pickle
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from mixcal.synthesis.inert_pickle import (
    MODULES,
    OBJECT,
    PARAMETER,
    STORAGE,
    TENSOR,
    Call,
    check_size,
)

# Modules within modules; a published generator has five.
DEEPEST = 10
# In the older form of torch.save.
PICKLES = 5


class Unexpected(ValueError):
    """A file that is built differently from a published generator."""


class Foreign(Exception):
    """Numbers of a file that are something else."""


def kind_of(module: Any) -> str:
    """The name of a persistent object's class."""
    return str(_noted(module, OBJECT).args[0]["class_name"])


def state_of(module: Any) -> Mapping[str, Any]:
    """The attributes of a module."""
    if isinstance(module, Call) and module.called == MODULES:
        state = module.state
    else:
        state = _noted(module, OBJECT).args[0]["state"]
    if not isinstance(state, dict):
        raise Unexpected("a module without attributes")
    return state


def tensors_of(module: Any, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Tensor]]:
    """Parameters and buffers of a module and those in it, by name."""
    if depth > DEEPEST:
        raise Unexpected("modules without end")
    state = state_of(module)
    for place in ("_parameters", "_buffers"):
        for name, value in state[place].items():
            if value is not None:
                yield f"{prefix}{name}", tensor_of(value)
    for name, child in state["_modules"].items():
        if child is not None:
            yield from tensors_of(child, f"{prefix}{name}.", depth + 1)


def tensor_of(noted: Any) -> Tensor:
    """The tensor that a call would have made, in single precision and on its own."""
    if isinstance(noted, Call) and noted.called == PARAMETER:
        noted = noted.args[0]
    storage, offset, size, stride = _noted(noted, TENSOR).args[:4]
    loaded = _storage(_noted(storage, STORAGE).args[0])
    raw, dtype = loaded._untyped_storage, loaded.dtype
    count = raw.nbytes() // dtype.itemsize
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if min(offset, *size, *stride) < 0 or last >= count or math.prod(size) > count:
        raise Unexpected("a tensor that reaches beyond its numbers")
    return torch.empty(0, dtype=dtype).set_(raw, offset, size, stride).float().clone()


def _storage(written: Any) -> torch.storage.TypedStorage:
    """Numbers that torch.save wrote, read by torch's own reader of nothing but numbers."""
    if not isinstance(written, bytes):
        raise Unexpected("numbers that are no bytes")
    for within in _pickles(written):
        check_size(within)
    try:
        with warnings.catch_warnings():
            # That it may not know every kind of pickle.
            warnings.simplefilter("ignore")
            loaded = torch.load(io.BytesIO(written), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise Foreign from None
    if not isinstance(loaded, torch.storage.TypedStorage):
        raise Unexpected("numbers of no type")
    return loaded


def _pickles(written: bytes) -> Iterator[io.BytesIO]:
    """The pickles that torch's reader will open, in the newer form or the older one."""
    if zipfile.is_zipfile(io.BytesIO(written)):
        with zipfile.ZipFile(io.BytesIO(written)) as archive:
            for name in archive.namelist():
                if name.endswith(".pkl"):
                    yield io.BytesIO(archive.read(name))
        return
    # Magic number, protocol, machine, object, keys: each goes on where the one before ended.
    whole = io.BytesIO(written)
    for _ in range(PICKLES):
        if whole.tell() < len(written):
            yield whole


def _noted(value: Any, called: str) -> Call:
    if not isinstance(value, Call) or value.called != called:
        raise Unexpected(f"no {called.rpartition('.')[2]} where one belongs")
    return value
