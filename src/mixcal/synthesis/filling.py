"""A store of mixed images filled by its generator: begun once, gone on with after any stop.

Several processes may fill one store, each with the blocks of its own shard; whoever comes first
makes the folder.
"""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from mixcal.core.errors import BadInput
from mixcal.data.mixed_store import MixedStore
from mixcal.data.whole_folder import make_whole
from mixcal.synthesis.generation import Columns, Plan, SetMaker
from mixcal.synthesis.model import Generator
from mixcal.training.interruption import StopRequest

Show = Callable[[int, int], None]
"""Sets done, of how many."""


def store_header(generator: Generator, plan: Plan, device: torch.device) -> dict[str, Any]:
    """Everything that the bytes of a store depend on, and where they come from."""
    described = generator.description
    dtype = generator.denoiser.autocast
    return {
        **plan.record(),
        "classes": list(described.classes),
        "generator": generator.fingerprint,
        "precision": "float32" if dtype is None else str(dtype).removeprefix("torch."),
        "device": device.type,
        "images_seen": generator.images_seen,
        "splits": described.splits,
        "data": described.data,
        "data_seed": described.seed,
        "network": asdict(described.network),
        "license": described.license,
    }


def opened_store(
    path: Path, header: Mapping[str, Any], *, plan: Plan, shape: tuple[int, int, int]
) -> MixedStore:
    """The store to fill: a new one, or one that was begun from the same generator and plan."""

    def begin(fresh: Path) -> None:
        MixedStore.create(fresh, header, sets=plan.sets, members=plan.members, shape=shape)
        if sys.platform == "linux":
            # No room is found out now, and not by a signal while a map is written.
            with open(fresh / "images.npy", "r+b") as file:
                os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)

    make_whole(path, "header.json", begin)
    store = MixedStore.open(path, "r+")
    asked = {**header, "sets": plan.sets, "members": plan.members, "shape": list(shape)}
    # What a header has been through: lists for tuples.
    for key, value in asked.items():
        if store.header.get(key) != value and list_of(value) != list_of(store.header.get(key)):
            raise BadInput(
                f"{path} was begun with {key} = {store.header.get(key)!r}, not {value!r}; go on "
                "with what it was begun with, or name another folder with --into."
            )
    return store


def list_of(value: Any) -> Any:
    """Tuples as JSON has them."""
    if isinstance(value, dict):
        return {key: list_of(inner) for key, inner in value.items()}
    return [list_of(inner) for inner in value] if isinstance(value, list | tuple) else value


def write(store: MixedStore, made: Columns) -> None:
    """The sets of a batch, but for those that are there already."""
    rows = [row for row, index in enumerate(made["set"]) if not store.done[index]]
    if rows:
        store.write_sets(
            made["set"][rows].tolist(),
            made["images"][rows],
            made["seed"][rows].tolist(),
            [(int(first), int(second)) for first, second in made["pair"][rows]],
        )


def fill(
    store: MixedStore,
    maker: SetMaker,
    *,
    shard: tuple[int, int],
    show: Show,
    stop: StopRequest,
) -> int:
    """Make what is missing of a shard; how many sets that were."""
    made = 0
    show(int(store.done.sum()), len(store))
    for block in maker.plan.blocks.missing(store.done, shard):
        if stop.requested:
            break
        columns = maker({"block": [block]})
        write(store, columns)
        made += len(columns["set"])
        show(int(store.done.sum()), len(store))
    return made
