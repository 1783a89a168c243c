"""Tables of one row a sample: on the device, on the host, or in mapped files.

A table has named fields, each with a width and a type. All rows are read and written together, so
that a row's numbers never part.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Int, Shaped
from torch import Tensor, nn

Kind = Literal["device", "host", "mapped"]
Cells = Mapping[str, Shaped[Tensor, "n _"]]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a table's rows."""

    width: int
    dtype: torch.dtype


@runtime_checkable
class Table(Protocol):
    """Rows by sample. `on_host`: reading and writing wait for the device."""

    on_host: bool

    def read(self, index: Int[Tensor, " n"]) -> dict[str, Tensor]: ...

    def write(self, index: Int[Tensor, " n"], cells: Cells) -> None: ...

    def whole(self, name: str) -> Tensor: ...


class DeviceTable(nn.Module):
    """Buffers that live where the objective lives; part of its state dict."""

    on_host = False

    def __init__(self, samples: int, fields: Mapping[str, Field]) -> None:
        super().__init__()
        self.names = tuple(fields)
        for name, field in fields.items():
            self.register_buffer(name, torch.zeros(samples, field.width, dtype=field.dtype))

    def read(self, index: Int[Tensor, " n"]) -> dict[str, Tensor]:
        """The rows of these samples."""
        return {name: self.get_buffer(name).index_select(0, index) for name in self.names}

    def write(self, index: Int[Tensor, " n"], cells: Cells) -> None:
        """Put rows back; equal indices must carry equal rows."""
        for name in self.names:
            self.get_buffer(name).index_copy_(0, index, cells[name])

    def whole(self, name: str) -> Tensor:
        """One field of all samples, on the host."""
        return self.get_buffer(name).cpu()


class HostTable(nn.Module):
    """The same in the host's memory, for devices that have little; part of the state dict.

    Reading and writing copy between host and device, so the device is waited for.
    """

    on_host = True

    def __init__(self, samples: int, fields: Mapping[str, Field]) -> None:
        super().__init__()
        self.inner = DeviceTable(samples, fields)

    def _apply(self, fn, recurse: bool = True):  # type: ignore[no-untyped-def]
        # `objective.to(device)` must leave this one where it is.
        return self

    def read(self, index: Int[Tensor, " n"]) -> dict[str, Tensor]:
        """The rows of these samples, on the index's device."""
        found = self.inner.read(index.cpu())
        return {name: cells.to(index.device) for name, cells in found.items()}

    def write(self, index: Int[Tensor, " n"], cells: Cells) -> None:
        """Put rows back; equal indices must carry equal rows."""
        self.inner.write(index.cpu(), {name: cells[name].cpu() for name in self.inner.names})

    def whole(self, name: str) -> Tensor:
        """One field of all samples."""
        return self.inner.whole(name)
