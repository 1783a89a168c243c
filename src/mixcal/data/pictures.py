"""Picture files as pools: looked at once, brought to one size and one number of channels.

Up to 50,000 of a person's own pictures are all decoded once, so every damaged one is found and
left out. Of more than that only the beginning and the end of each file are looked at; one that is
damaged in its middle is shown as plain gray, with a warning, when its turn comes. Pictures of a
published set are never left out: positions mean the same everywhere.
"""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from jaxtyping import Bool, Int, Shaped

from mixcal.core.errors import BadInput
from mixcal.data.archives import Store
from mixcal.data.decoding import Header, Unreadable, decoded, header
from mixcal.data.folder_pool import (
    FolderPool,
    fitting,
    in_memory,
    most_kept,
    undecodable,
    unreadable,
)
from mixcal.data.options import DataOptions
from mixcal.data.pool import MemoryPool, Pool
from mixcal.data.reading import Reading

THOROUGH = 50_000
SMALL = 96
USUAL = 64
Shape = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Picture files and their labels, not yet opened."""

    store: Store
    names: Shaped[np.ndarray, " n"]
    labels: Int[np.ndarray, " n"]

    def only(self, kept: Bool[np.ndarray, " n"]) -> "Listing":
        """Some of them."""
        return replace(self, names=self.names[kept], labels=self.labels[kept])


@dataclass(frozen=True, slots=True)
class Album:
    """Pools of pictures of one shape, by split, and what had to be left out or changed."""

    pools: Mapping[str, Pool]
    shape: Shape
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Survey:
    """What the headers say: the readable pictures by split, and why others are not."""

    listings: Mapping[str, Listing]
    names: list[str]
    headers: list[Header]
    failures: dict[str, str] = field(default_factory=dict)


def own_album(
    listings: Mapping[str, Listing],
    options: DataOptions,
    reading: Reading,
    *,
    color: bool | None = None,
) -> Album:
    """Pools of a person's pictures, by split; `color` decides where gray and colour are mixed."""
    workers = _workers(reading)
    count = sum(len(listing.names) for listing in listings.values())
    thorough = count <= THOROUGH
    survey = surveyed(listings, workers, decode_odd_ends=not thorough)
    failures = survey.failures
    _refuse(failures, reading)
    if not survey.headers:
        raise BadInput(f"None of the pictures can be read{_like(failures)}; mend the files.")
    channels, about_color = _channels(survey, color)
    size, about_size = _size(survey.headers, options)
    shape = (channels, *size)
    fits = fitting(len(survey.headers), shape, reading)
    pools: dict[str, Pool] = {}
    gray: dict[str, str] = {}
    for split, listing in survey.listings.items():
        pool = folder_pool(listing, shape, reading, workers)
        failed: dict[int, str] = {}
        if fits:
            held, failed = in_memory(pool)
            pools[split] = held
            if failed and thorough:
                kept = _kept(pool, failed)
                raw = held.raw[torch.from_numpy(kept)]
                pools[split] = MemoryPool(raw, held.labels[kept], held.ids[kept])
        elif thorough:
            failed = undecodable(pool)
            pools[split] = folder_pool(listing.only(_kept(pool, failed)), shape, reading, workers)
        else:
            pools[split] = pool
        (failures if thorough else gray).update(_named(pool, failed))
    _refuse(failures | gray, reading)
    remarks = (*_left_out(failures, count), *_blank(gray), *about_color, *about_size)
    return Album(pools, shape, remarks)


def published_album(listings: Mapping[str, Listing], shape: Shape, reading: Reading) -> Album:
    """Pools of a published set's pictures, by split."""
    workers = _workers(reading)
    fits = fitting(sum(len(listing.names) for listing in listings.values()), shape, reading)
    pools: dict[str, Pool] = {}
    gray: dict[str, str] = {}
    for split, listing in listings.items():
        pool = folder_pool(listing, shape, reading, workers)
        pools[split] = pool
        if fits:
            pools[split], failed = in_memory(pool)
            gray |= _named(pool, failed)
    _refuse(gray, reading)
    return Album(pools, shape, _blank(gray))


def folder_pool(
    listing: Listing, shape: Shape, reading: Reading, workers: ThreadPoolExecutor
) -> FolderPool:
    """A pool that decodes as it goes."""
    return FolderPool(
        store=listing.store,
        ids=listing.names,
        labels=listing.labels,
        shape=shape,
        workers=workers,
        most_kept=most_kept(shape, reading),
        strict=reading.strict,
    )


def surveyed(
    listings: Mapping[str, Listing], workers: ThreadPoolExecutor, *, decode_odd_ends: bool
) -> Survey:
    """Look at every file's header; where its end looks odd, decode it if asked to."""
    survey = Survey({}, [], [])
    left = {}
    for split, listing in listings.items():

        def look(name: str, store: Store = listing.store) -> Header | str:
            return _looked_at(store, name, decode_odd_ends=decode_odd_ends)

        names = [str(name) for name in listing.names]
        found = list(workers.map(look, names))
        kept = np.array([isinstance(answer, Header) for answer in found], dtype=bool)
        left[split] = listing.only(kept)
        for name, answer in zip(names, found, strict=True):
            if isinstance(answer, Header):
                survey.names.append(name)
                survey.headers.append(answer)
            else:
                survey.failures[name] = answer
    return replace(survey, listings=left)


def _looked_at(store: Store, name: str, *, decode_odd_ends: bool) -> Header | str:
    """A file's header, or why it cannot be read."""
    try:
        with store.open(name) as file:
            found = header(file)
            if decode_odd_ends and not found.ended:
                file.seek(0)
                decoded(file, size=(8, 8), channels=3)
            return found
    except Unreadable as error:
        return str(error)
    except OSError as error:
        return error.strerror or str(error)


def _channels(survey: Survey, color: bool | None) -> tuple[int, list[str]]:
    """1 or 3, and a remark if that changes some pictures."""
    colored = np.array([found.color for found in survey.headers])
    if color is None:
        if not colored.any() or colored.all():
            return (3 if colored.all() else 1), []
        if 2 * colored.sum() <= len(colored):
            few = survey.names[int(np.argmax(colored))]
            raise BadInput(
                f"{len(colored) - colored.sum():,} pictures are gray and {colored.sum():,} have "
                f'colour (like {few}); set method.data.variant to "gray" or "color" to say what '
                "all of them should be."
            )
        color = True
    changed = colored != color
    if not changed.any():
        return (3 if color else 1), []
    other, name = ("gray", "colour") if color else ("colour", "gray")
    example = survey.names[int(np.argmax(changed))]
    return (3 if color else 1), [
        f"{changed.sum():,} {other} pictures among {len(changed):,} are read as {name} (like "
        f"{example})."
    ]


def _size(headers: list[Header], options: DataOptions) -> tuple[tuple[int, int], list[str]]:
    """Height and width of all, and a remark if nobody chose them."""
    if options.image_size < 0:
        raise BadInput(f"method.data.image_size is {options.image_size}; it must be at least 0.")
    if options.image_size:
        return (options.image_size, options.image_size), []
    sizes = {found.size for found in headers}
    if len(sizes) == 1 and max(only := next(iter(sizes))) <= SMALL:
        return only, []
    small, large = min(sizes, key=np.prod), max(sizes, key=np.prod)
    return (USUAL, USUAL), [
        f"Pictures of {small[0]} x {small[1]} to {large[0]} x {large[1]} pixels are brought to "
        f"{USUAL} x {USUAL}; set method.data.image_size for another size."
    ]


def _workers(reading: Reading) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, reading.workers), thread_name_prefix="decoding")


def _kept(pool: FolderPool, failed: Iterable[int]) -> Bool[np.ndarray, " n"]:
    kept = np.ones(len(pool), dtype=bool)
    kept[list(failed)] = False
    return kept


def _named(pool: FolderPool, failed: Mapping[int, str]) -> dict[str, str]:
    return {str(pool.ids[position]): why for position, why in failed.items()}


def _refuse(failures: Mapping[str, str], reading: Reading) -> None:
    if failures and reading.strict:
        name, why = next(iter(failures.items()))
        more = f" and {len(failures) - 1:,} more" if len(failures) > 1 else ""
        raise unreadable(name + more, why)


def _left_out(failures: Mapping[str, str], count: int) -> tuple[str, ...]:
    if not failures:
        return ()
    return (
        f"{len(failures):,} of {count:,} pictures cannot be read and are left out"
        f"{_like(failures)}.",
    )


def _blank(failures: Mapping[str, str]) -> tuple[str, ...]:
    if not failures:
        return ()
    return (f"{len(failures):,} pictures cannot be read and are plain gray{_like(failures)}.",)


def _like(failures: Mapping[str, str]) -> str:
    if not failures:
        return ""
    name, why = next(iter(failures.items()))
    return f" (like {name}: {why})"
