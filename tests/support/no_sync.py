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
    """Within it `.item()`, `.tolist()`, `nonzero`, boolean masks and their like are errors.

    So are copies to a device that are waited for: on a CPU they are none, so the call is looked at.
    """
    before, move = torch.Tensor.tolist, torch.Tensor.to

    def refuse(self: torch.Tensor) -> list:
        raise AssertionError("tolist() makes the host wait for the device")

    def moved(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        places = (str, torch.device, torch.Tensor)
        if "device" in kwargs or (args and isinstance(args[0], places)):
            waits = not kwargs.get("non_blocking", False)
            assert not waits, "to(device) makes the host wait; give it non_blocking=True"
        return move(self, *args, **kwargs)

    torch.Tensor.tolist = refuse  # type: ignore[method-assign]
    torch.Tensor.to = moved  # type: ignore[method-assign, assignment]
    try:
        with _Refusing():
            yield
    finally:
        torch.Tensor.tolist = before  # type: ignore[method-assign]
        torch.Tensor.to = move  # type: ignore[method-assign]
