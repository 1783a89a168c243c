"""From the prepared data of a run to its batches."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch

from mixcal.build import Prepared
from mixcal.core.errors import BadInput
from mixcal.core.protocols import Supply
from mixcal.data.loading import Loader, Part
from mixcal.data.pool import UNLABELED, Pool
from mixcal.data.sampling import FollowingStream, IndexStream
from mixcal.data.splits import Splits
from mixcal.recipe import Method

# Views made at once fit a processor's cache, or a little of a GPU's memory.
FLOATS_AT_ONCE = {"cpu": 2**21, "gpu": 2**24}
MOST_STEPS_AT_ONCE = 16


def make_loader(
    method: Method,
    prepared: Prepared,
    device: torch.device,
    streams: frozenset[str],
    supplies: Mapping[str, Supply] | None = None,
) -> Loader:
    """Batches as the recipe wants them, with the extra streams the calibrators ask for or bring."""
    pool, splits, views = prepared.source.train, prepared.splits, prepared.views

    def part(name: str, members: np.ndarray, batch: int, order: str = "passes") -> Part:
        labels = pool.labels[members]
        stream = IndexStream(len(members), batch, method.seed, name, order, labels)
        view = views.weak if name == "weak" else views.labeled
        return Part(name=name, pool=pool, members=members, labels=labels, stream=stream, view=view)

    extra = {}
    for name in sorted(streams):
        if name == "partner":
            extra[name] = part(name, splits.labeled, method.batch, method.data.order)
        elif name == "validation":
            if not len(splits.validation) or splits.validation_from == "source":
                raise BadInput(
                    "A calibrator trains on validation data, but there is none in the training "
                    'pool; set method.data.validation to "labels" or "pool".'
                )
            extra[name] = part(name, splits.validation, method.batch)
    labeled = part("labeled", splits.labeled, method.batch, method.data.order)
    for name, supply in (supplies or {}).items():
        if method.equal_data not in (0, supply.copies):
            raise BadInput(
                f"method.equal_data is {method.equal_data}, but {supply.copies} further images go "
                f"with every labeled one; set method.equal_data={supply.copies}, or n_aug to "
                f"{method.equal_data}."
            )
        extra[name] = _supplied(name, supply, labeled, method.seed)
    semi = method.algorithm is not None
    weak = None
    if semi:
        weak = part("weak", splits.unlabeled, method.batch * method.unlabeled_ratio)
        weak = replace(weak, labels=hidden_labels(pool, splits))
    return Loader(
        labeled=labeled,
        weak=weak,
        strong_view=views.strong if semi else None,
        extra=extra,
        classes=prepared.facts.classes,
        seed=method.seed,
        device=device,
        block=_block(method, prepared, device),
    )


def hidden_labels(pool: Pool, splits: Splits) -> np.ndarray:
    """The unlabeled samples' labels, for readings: none where only labeled samples have any."""
    labels = pool.labels[splits.unlabeled]
    others = ~np.isin(splits.unlabeled, splits.labeled)
    return labels if (labels[others] >= 0).any() else np.full_like(labels, UNLABELED)


def _block(method: Method, prepared: Prepared, device: torch.device) -> int:
    """How many steps' views are made at once: as many as stay small."""
    if prepared.preprocessing is None:
        return 1
    images = method.batch * (1 + 2 * method.unlabeled_ratio * (method.algorithm is not None))
    height, width = prepared.preprocessing.size
    floats = images * prepared.preprocessing.channels * height * width
    limit = FLOATS_AT_ONCE["cpu" if device.type == "cpu" else "gpu"]
    return min(MOST_STEPS_AT_ONCE, max(1, limit // floats))


def _supplied(name: str, supply: Supply, labeled: Part, seed: int) -> Part:
    """A calibrator's own rows, chosen by the labels of the step's labeled rows, seen alike."""
    stream = FollowingStream(
        leader=labeled.stream,
        labels=labeled.labels,
        draw=supply.draw,
        copies=supply.copies,
        seed=seed,
        name=name,
    )
    return Part(
        name=name,
        pool=supply,
        members=np.arange(len(supply)),
        labels=np.full(len(supply), UNLABELED),
        stream=stream,
        view=labeled.view,
        soft_targets=supply.targets,
    )
