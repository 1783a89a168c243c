"""Annotating a store: every image of every set against the prototypes of an encoder.

What is found so far lies in `annotation.part` within the store, so that a stopped annotation goes
on and several processes share one; the last of them makes it the store's. All passes hold equally
many sets, each at its own place.
"""

import fcntl
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float32, Int, Shaped

from mixcal.core.errors import BadInput
from mixcal.data.mixed_store import MixedStore
from mixcal.data.pool import Pool
from mixcal.synthesis.annotation import Prototypes, Rule
from mixcal.synthesis.blocks import Blocks
from mixcal.synthesis.encoders import Encoder
from mixcal.synthesis.filling import Show
from mixcal.synthesis.generation import Columns
from mixcal.training.disk import write_json

SETS_PER_PASS = 32
# Images a pass while prototypes are made.
BATCH = 256


class SetScorer:
    """Annotates blocks of sets: a batch with the column `block` to one with a row for every set."""

    def __init__(
        self, encoder: Encoder, prototypes: Prototypes, rule: Rule, store: MixedStore
    ) -> None:
        self.encoder = encoder
        self.prototypes = prototypes
        self.rule = rule
        self.store = store
        self.blocks = Blocks(len(store), SETS_PER_PASS)

    def __call__(self, batch: Mapping[str, Any]) -> Columns:
        """λ_E, λ and, if the rule says so, the shares of all classes."""
        parts = [self._block(self.blocks.range(int(number))) for number in batch["block"]]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _block(self, rows: range) -> Columns:
        filled = np.full(SETS_PER_PASS, rows.start, dtype=np.int64)
        filled[: len(rows)] = rows
        images = np.ascontiguousarray(self.store.images[filled].transpose(0, 1, 4, 2, 3))
        raw = torch.from_numpy(images).flatten(0, 1)
        whole = self.encoder(raw).reshape(*images.shape[:2], -1)
        features, pairs = whole[: len(rows)], np.asarray(self.store.pairs[list(rows)])
        found: Columns = {
            "set": np.array(rows, dtype=np.int64),
            "projections": self.prototypes.projections(features, pairs),
            "weights": self.rule.weights(self.prototypes, features, pairs),
        }
        if self.rule.shares:
            found["targets"] = self.prototypes.shares(features, temperature=self.rule.temperature)
        return found


def prototypes_of(
    encoder: Encoder,
    pool: Pool,
    members: Int[np.ndarray, " n"],
    *,
    classes: int,
    normalize: bool,
    show: Show,
) -> Prototypes:
    """The mean features of these images of a pool."""

    def batches() -> Iterator[tuple[Float32[np.ndarray, "n d"], Int[np.ndarray, " n"]]]:
        for start in range(0, len(members), BATCH):
            show(start, len(members))
            here = members[start : start + BATCH]
            pool.prefetch(members[start + BATCH : start + 2 * BATCH])
            yield encoder(pool.take(here)), pool.labels[here]

    return Prototypes.of(batches(), classes=classes, normalize=normalize)


def few_of_each(
    labels: Int[np.ndarray, " p"], members: Int[np.ndarray, " n"], most: int
) -> Int[np.ndarray, " m"]:
    """The first `most` members of every class; 0: all."""
    if not most:
        return members
    own = labels[members]
    kept = [np.flatnonzero(own == label)[:most] for label in np.unique(own)]
    return members[np.sort(np.concatenate(kept))]


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An annotation on its way, in a folder of its own within the store."""

    store: MixedStore

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self.store.path / "annotation.part"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Within it no other process begins or ends an annotation of this store."""
        try:
            file = open(self.store.path / ".annotating", "w")  # noqa: SIM115  # closed below
        except OSError as error:
            raise BadInput(
                f"{self.store.path} cannot be written in ({error.strerror}); annotate a copy with "
                "--into."
            ) from None
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def ended(self, record: Mapping[str, Any]) -> bool:
        """Whether the store, as it is on the disk now, has an annotation with this record."""
        try:
            found = MixedStore.open(self.store.path).annotation()
        except BadInput:
            return False
        return found is not None and json.loads(json.dumps(record)).items() <= found.record.items()

    def begun(self, record: Mapping[str, Any]) -> Prototypes | None:
        """The prototypes of an annotation with this record that was begun; None: there is none."""
        try:
            known = json.loads((self.path / "record.json").read_text())
        except (OSError, ValueError):
            return None
        if known != json.loads(json.dumps(record)):
            return None
        return Prototypes(self.map("prototypes", "r")[:], bool(record["normalize"]))

    def begin(self, record: Mapping[str, Any], prototypes: Prototypes, *, shares: bool) -> None:
        """Room for the answers; whatever else was begun is given up."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.mkdir()
        np.save(self.path / "prototypes.npy", prototypes.means, allow_pickle=False)
        sets, members = self.store.images.shape[:2]
        shapes: dict[str, tuple[Any, tuple[int, ...]]] = {
            "done": (np.bool_, (sets,)),
            "projections": (np.float32, (sets, members)),
            "weights": (np.float32, (sets, members)),
        }
        if shares:
            shapes["targets"] = (np.float32, (sets, members, len(self.store.classes)))
        for name, (dtype, shape) in shapes.items():
            np.lib.format.open_memmap(
                self.path / f"{name}.npy", mode="w+", dtype=dtype, shape=shape
            ).flush()
        # Last: without a record nothing was begun.
        write_json(self.path / "record.json", dict(record))

    def map(self, name: str, mode: Literal["r", "r+"] = "r+") -> Shaped[np.ndarray, "..."]:
        """One of its arrays."""
        return np.load(self.path / f"{name}.npy", mmap_mode=mode, allow_pickle=False)

    def write(self, found: Columns) -> None:
        """The answers for some sets; they are on the disk before they count."""
        rows = found["set"]
        for name, values in found.items():
            if name != "set":
                array = self.map(name)
                array[rows] = values
                array.flush()  # type: ignore[attr-defined]  # a numpy.memmap
        done = self.map("done")
        done[rows] = True
        done.flush()  # type: ignore[attr-defined]

    def end(self, record: Mapping[str, Any]) -> bool:
        """Make it the store's if it is whole, and nobody else has; whether the store has it."""
        with self.alone():
            prototypes = self.begun(record)
            if prototypes is None:
                return self.ended(record)
            if not self.map("done", "r").all():
                return False
            shares = (self.path / "targets.npy").is_file()
            self.store.annotate(
                self.map("projections", "r"),
                self.map("weights", "r"),
                {**record, "prototypes": prototypes.fingerprint},
                targets=self.map("targets", "r") if shares else None,
            )
            shutil.rmtree(self.path)
            return True
