"""Splits: which samples are labeled, unlabeled, kept for validation, or test.

Every choice is drawn class by class from generators of its own, so that it depends on the seed and
the class alone, not on what else was drawn.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from jaxtyping import Bool, Int

from mixcal.core.errors import BadInput
from mixcal.core.seeds import derive
from mixcal.data.longtail import long_tailed
from mixcal.data.options import DataOptions
from mixcal.data.source import Source

Index = Int[np.ndarray, " _"]
Origin = Literal["labels", "pool", "source", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """Positions in the source's pools. `validation_from` says what the validation labels cost:
    they are part of the user's labels, extra ones from the pool, or the source's own split."""

    labeled: Index
    unlabeled: Index
    validation: Index
    test: Index
    validation_from: Origin

    @property
    def label_budget(self) -> int:
        """How many labels the run may see before the test: labeled and labeled validation."""
        return len(self.labeled) + len(self.validation)

    @property
    def fingerprint(self) -> str:
        """A hash of all positions."""
        digest = hashlib.sha256(self.validation_from.encode())
        for part in (self.labeled, self.unlabeled, self.validation, self.test):
            digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes() + b"|")
        return digest.hexdigest()[:16]

    def record(self) -> dict[str, Any]:
        """What JSON keeps of it: runs of consecutive positions as [first, last]."""
        return {
            "labeled": _packed(self.labeled),
            "unlabeled": _packed(self.unlabeled),
            "validation": _packed(self.validation),
            "test": _packed(self.test),
            "validation_from": self.validation_from,
            "hash": self.fingerprint,
        }

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file of what `record` gave; a changed one is refused."""
        try:
            record = json.loads(path.read_text())
            splits = cls(
                labeled=_unpacked(record["labeled"]),
                unlabeled=_unpacked(record["unlabeled"]),
                validation=_unpacked(record["validation"]),
                test=_unpacked(record["test"]),
                validation_from=record["validation_from"],
            )
            intact = splits.fingerprint == record["hash"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadInput(
                f"{path} cannot be read ({type(error).__name__}: {error}); restore the file."
            ) from None
        if not intact:
            raise BadInput(f"{path} does not match its own hash; restore the file.")
        return splits


def split(source: Source, options: DataOptions, *, seed: int) -> Splits:
    """The splits of one run."""
    seed = seed if options.split_seed is None else options.split_seed
    labels = source.train.labels
    eligible = labels >= 0
    if options.imbalance != 1 and options.train_limit:
        raise BadInput(
            "method.data.imbalance says how many images each class keeps, and train_limit how many "
            "all of them; give one, and head_count for the size of a long-tailed pool."
        )
    if options.imbalance != 1:
        counts = long_tailed(labels, options.imbalance, options.head_count, classes=source.classes)
        eligible &= _mask(len(labels), _drawn(labels, eligible, counts, seed, "imbalance", source))
    elif options.train_limit:
        share = options.train_limit / max(int(eligible.sum()), 1)
        counts = [round(share * int((eligible & (labels == k)).sum())) for k in _range(source)]
        eligible &= _mask(len(labels), _drawn(labels, eligible, counts, seed, "limit", source))
    origin = _origin(source, options)
    extra = np.empty(0, dtype=np.int64)
    if origin == "pool":
        extra = _validation(labels, eligible, options, seed, source)
        eligible &= ~_mask(len(labels), extra)
    labeled = _drawn(labels, eligible, _wanted(source, eligible, options), seed, "label", source)
    unlabeled = eligible | (labels < 0)
    if origin == "labels":
        held = _validation(labels, _mask(len(labels), labeled), options, seed, source)
        # Their pictures go on serving as unlabeled ones only if the labeled ones do.
        labeled, extra = np.setdiff1d(labeled, held), held
        unlabeled &= ~_mask(len(labels), held)
    if not options.labeled_in_unlabeled:
        unlabeled &= ~_mask(len(labels), labeled)
    if origin == "source" and source.validation is not None:
        extra = np.arange(len(source.validation))
    return Splits(
        labeled=np.sort(labeled),
        unlabeled=np.flatnonzero(unlabeled),
        validation=np.sort(extra),
        test=np.arange(len(source.test)) if source.test is not None else extra[:0],
        validation_from=origin,
    )


def _origin(source: Source, options: DataOptions) -> Origin:
    if options.validation != "auto":
        if options.validation == "source" and source.validation is None:
            raise BadInput(
                f"{source.name} has no validation split; set method.data.validation to "
                '"labels", "pool" or "none".'
            )
        return options.validation
    if source.validation is not None:
        return "source"
    return "labels" if source.own else "none"


def _wanted(
    source: Source, eligible: Bool[np.ndarray, " n"], options: DataOptions
) -> list[int] | None:
    """How many labels each class gives; None: all."""
    if options.labels_per_class is not None and options.label_fraction is not None:
        raise BadInput("Give `labels_per_class` or `label_fraction`, not both.")
    if options.labels_per_class is not None:
        return [options.labels_per_class] * len(source.classes)
    if options.label_fraction is not None:
        sizes = np.bincount(source.train.labels[eligible], minlength=len(source.classes))
        return [int(options.label_fraction * size) for size in sizes]
    return None


def _drawn(
    labels: Index,
    eligible: Bool[np.ndarray, " n"],
    counts: list[int] | None,
    seed: int,
    purpose: str,
    source: Source,
) -> Index:
    """The first `counts[k]` of class k after shuffling it."""
    if counts is None:
        return np.flatnonzero(eligible)
    chosen = []
    for k in _range(source):
        members = np.flatnonzero(eligible & (labels == k))
        if len(members) < counts[k] or counts[k] == 0:
            raise BadInput(
                f"{source.name}: class {source.classes[k]!r} has {len(members)} labeled images, "
                f"{max(counts[k], 1)} were asked for; ask for fewer labels or add images."
            )
        generator = np.random.default_rng(derive(seed, "split", purpose, k))
        chosen.append(generator.permutation(members)[: counts[k]])
    return np.concatenate(chosen)


def _validation(
    labels: Index,
    eligible: Bool[np.ndarray, " n"],
    options: DataOptions,
    seed: int,
    source: Source,
) -> Index:
    share = options.validation_fraction
    if not 0 < share < 1:
        raise BadInput(f"method.data.validation_fraction is {share}; it must lie in (0, 1).")
    if not options.validation_stratified:
        members = np.flatnonzero(eligible)
        generator = np.random.default_rng(derive(seed, "split", "validation"))
        return generator.permutation(members)[: round(share * len(members))]
    counts = []
    for k in _range(source):
        size = int((eligible & (labels == k)).sum())
        if size < 2:
            raise BadInput(
                f"{source.name}: class {source.classes[k]!r} has {size} labeled images; validation "
                "needs one of at least two, so add labels or switch validation off."
            )
        counts.append(min(max(1, round(share * size)), size - 1))
    return _drawn(labels, eligible, counts, seed, "validation", source)


def _range(source: Source) -> range:
    return range(len(source.classes))


def _mask(size: int, index: Index) -> Bool[np.ndarray, " n"]:
    mask = np.zeros(size, dtype=bool)
    mask[index] = True
    return mask


def _packed(index: Index) -> list[list[int]]:
    """Ascending positions as runs of [first, last]."""
    if not len(index):
        return []
    breaks = np.flatnonzero(np.diff(index) != 1)
    first = index[np.concatenate([[0], breaks + 1])]
    last = index[np.concatenate([breaks, [len(index) - 1]])]
    return np.stack([first, last], axis=1).tolist()


def _unpacked(runs: list[list[int]]) -> Index:
    parts = [np.arange(first, last + 1) for first, last in runs]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
