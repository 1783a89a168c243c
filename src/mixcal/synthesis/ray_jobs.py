"""Generation and annotation as Ray Data jobs (extra: `ray`): the same blocks, the same bytes.

A job maps a class over rows with the column `block`. Each worker makes its own instance, from
paths, so that nothing large travels; what comes back is written by one process, in any order.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int

from mixcal.core.errors import BadInput
from mixcal.predicting.device import pick_device
from mixcal.synthesis.generation import Columns, Plan, SetMaker
from mixcal.synthesis.model import load_generator


class LoadedSetMaker:
    """A maker of sets that loads its generator where it runs."""

    def __init__(
        self, *, generator: str, plan: Plan, device: str, precision: str = "", threads: int = 0
    ) -> None:
        if threads:
            torch.set_num_threads(threads)
        place = pick_device(device, asked="--device")
        loaded = load_generator(Path(generator), place, precision=precision)
        self.maker = SetMaker(loaded, plan, place)

    def __call__(self, batch: Mapping[str, Any]) -> Columns:
        return self.maker(batch)


def locally(
    job: type, given: Mapping[str, Any], blocks: Int[np.ndarray, " n"]
) -> Iterator[Columns]:
    """The same job without Ray, block after block."""
    worker = job(**given)
    for block in blocks:
        yield worker({"block": np.array([block])})


def by_ray(
    job: type, given: Mapping[str, Any], blocks: Int[np.ndarray, " n"], *, workers: int
) -> Iterator[Columns]:
    """The job's answers for every block, one row each time, as they come."""
    data = ray_data()
    if not len(blocks):
        return
    # In pieces from the start: dividing them later would need a processor that the workers hold.
    items = [{"block": int(block)} for block in blocks]
    rows = data.from_items(items, override_num_blocks=len(items))
    answers = rows.map_batches(
        job,
        fn_constructor_kwargs=dict(given),
        batch_size=1,
        batch_format="numpy",
        compute=data.ActorPoolStrategy(size=workers),
    )
    yield from answers.iter_batches(batch_size=None, batch_format="numpy")


def ray_data() -> Any:
    """Ray's module of data jobs, if it is installed."""
    try:
        import ray.data
    except ImportError as error:
        raise BadInput(f"--ray needs the package ray ({error}); install mixcal[ray].") from None
    return ray.data
