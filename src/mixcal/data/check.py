"""What is in a data set: counts, shapes, class balance, unreadable and duplicate images."""

import hashlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Int, UInt64

from mixcal.data.pool import Pool
from mixcal.data.preprocessing import channel_statistics
from mixcal.data.source import Source

BLOCK = 512
MOST_NAMED = 10
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """One content that several images have: where they are, and their labels' names."""

    images: tuple[str, ...]
    labels: tuple[str, ...]

    @property
    def contradictory(self) -> bool:
        """Equal images of different classes."""
        return len(set(self.labels) - {""}) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What `check` found. `counts` are labeled images by split and class."""

    name: str
    classes: tuple[str, ...]
    shape: tuple[int, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    images: Mapping[str, int]
    counts: Mapping[str, tuple[int, ...]]
    unlabeled: int
    # Contents that are there twice: in one split, and in several.
    within: Mapping[str, tuple[Duplicate, ...]]
    across: Mapping[str, tuple[Duplicate, ...]]
    unreadable: tuple[str, ...]
    remarks: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain tables."""
        return asdict(self)


def check(source: Source, *, progress: Progress = lambda done, whole: None) -> Report:
    """Look at every image of a source."""
    pools = {"train": source.train, "validation": source.validation, "test": source.test}
    there: dict[str, Pool] = {name: pool for name, pool in pools.items() if pool is not None}
    whole = sum(len(pool) for pool in there.values())
    contents = []
    done = 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for pool in there.values():
            contents.append(_contents(pool, done, whole, progress))
            done += len(pool)
        mean, std = channel_statistics(source.train)
        shape = tuple(source.train.take(np.zeros(1, dtype=np.int64)).shape[1:])
    within, across = _duplicates(there, np.concatenate(contents), source.classes)
    return Report(
        name=source.name,
        classes=source.classes,
        shape=shape,
        mean=tuple(round(value, 4) for value in mean),
        std=tuple(round(value, 4) for value in std),
        images={name: len(pool) for name, pool in there.items()},
        counts={name: _class_counts(pool, len(source.classes)) for name, pool in there.items()},
        unlabeled=int((source.train.labels < 0).sum()),
        within=within,
        across=across,
        unreadable=tuple(sorted({str(warning.message) for warning in caught})),
        remarks=source.remarks,
    )


def _contents(pool: Pool, done: int, whole: int, progress: Progress) -> UInt64[np.ndarray, " n"]:
    """A hash of each image's pixels."""
    found = np.empty(len(pool), np.uint64)
    for start in range(0, len(pool), BLOCK):
        stop = min(start + BLOCK, len(pool))
        pool.prefetch(np.arange(stop, min(stop + BLOCK, len(pool))))
        for row, image in enumerate(pool.take(np.arange(start, stop)).numpy()):
            digest = hashlib.blake2b(image.tobytes(), digest_size=8).digest()
            found[start + row] = int.from_bytes(digest, "little")
        progress(done + stop, whole)
    return found


def _duplicates(
    pools: Mapping[str, Pool], contents: UInt64[np.ndarray, " n"], classes: tuple[str, ...]
) -> tuple[dict[str, tuple[Duplicate, ...]], dict[str, tuple[Duplicate, ...]]]:
    """Contents that are there more than once: by split, and by the splits they join."""
    names = np.concatenate([np.full(len(pool), name) for name, pool in pools.items()])
    labels = np.concatenate([pool.labels for pool in pools.values()])
    ids = [pool.ids for pool in pools.values()]
    bounds = np.cumsum([0, *(len(pool) for pool in pools.values())])
    within: dict[str, list[Duplicate]] = {}
    across: dict[str, list[Duplicate]] = {}
    for group in _groups(contents):
        splits = list(dict.fromkeys(names[group].tolist()))
        images = []
        for position in group:
            part = int(np.searchsorted(bounds, position, side="right")) - 1
            images.append(f"{names[position]}: {ids[part][position - bounds[part]]}")
        known = tuple(classes[label] if label >= 0 else "" for label in labels[group])
        kind, key = (within, splits[0]) if len(splits) == 1 else (across, " and ".join(splits))
        kind.setdefault(key, []).append(Duplicate(tuple(images), known))
    return (
        {key: tuple(found) for key, found in within.items()},
        {key: tuple(found) for key, found in across.items()},
    )


def _groups(contents: UInt64[np.ndarray, " n"]) -> list[Int[np.ndarray, " _"]]:
    """Positions of equal contents, where there are at least two, in order of the first."""
    order = np.argsort(contents, kind="stable")
    ordered = contents[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    stops = np.append(starts[1:], len(order))
    several = stops - starts > 1
    groups = [
        order[start:stop] for start, stop in zip(starts[several], stops[several], strict=True)
    ]
    return sorted(groups, key=lambda group: int(group[0]))


def _class_counts(pool: Pool, classes: int) -> tuple[int, ...]:
    labels = pool.labels[pool.labels >= 0]
    return tuple(np.bincount(labels, minlength=classes).tolist())
