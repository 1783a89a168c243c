"""A mode that fails on every operation that would make a GPU wait for the host to read a value."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

WAITING = {
    "aten::_local_scalar_dense",
    "aten::nonzero",
    "aten::item",
    "aten::is_nonzero",
    "aten::masked_select",
    "aten::unique_consecutive",
    "aten::_unique2",
    "aten::bincount",
    "aten::equal",
}


class _Refusing(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name
        assert name not in WAITING, f"{name} makes the host wait for the device"
        return func(*args, **(kwargs or {}))


@contextmanager
def no_synchronisation() -> Iterator[None]:
    """Within it `.item()`, `.tolist()`, `nonzero`, boolean masks and their like are errors."""
    before = torch.Tensor.tolist

    def refuse(self: torch.Tensor) -> list:
        raise AssertionError("tolist() makes the host wait for the device")

    torch.Tensor.tolist = refuse  # type: ignore[method-assign]
    try:
        with _Refusing():
            yield
    finally:
        torch.Tensor.tolist = before  # type: ignore[method-assign]
