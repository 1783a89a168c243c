"""A store of mixed images: sets that share one noise while the label moves from class to class.

Made by `mixcal synthesize`, trained on by the calibrator "csm" (Luo et al., ICML 2025;
arXiv:2504.13548v2). A store is a folder of plain arrays, memory-mapped, and never a pickle:

| file | what it holds |
| --- | --- |
| `header.json` | classes, hashes of generator and split, sampler, shape; later the annotation |
| `images.npy` | uint8 (sets, members, height, width, channels) |
| `seeds.npy` | int64 (sets): the seed of a set's noise |
| `pairs.npy` | int32 (sets, 2): the classes c1 < c2 |
| `positions.npy` | float32 (members): λ̂ from 0, pure c2, to 1, pure c1 |
| `done.npy` | bool (sets): only what is done counts |
| `projections.npy` | float32 (sets, members): λ_E, once annotated |
| `weights.npy` | float32 (sets, members): λ, the share of c1, once annotated |
| `targets.npy` | float32 (sets, members, classes): the shares of all classes, if made |

Images are on the disk before their set is marked done, so a store that was being written when its
process was killed holds no half set. Several processes may write different sets of one store.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Shaped, UInt8

from mixcal.core.errors import BadInput
from mixcal.data.written_together import write_together

FORMAT = 1
MEMBERS = 8
# What a header says about how the images were made; `splits` is the fingerprint of the split whose
# labeled images the generator saw.
NEEDED = ("classes", "generator", "sampler_steps", "guidance", "splits")
NEEDED_ANNOTATION = ("encoder", "prototypes", "splits", "rule", "scale")


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """What an encoder said of the images: λ_E, λ and, perhaps, the shares of all classes."""

    record: Mapping[str, Any]
    projections: Float32[np.ndarray, "s m"]
    weights: Float32[np.ndarray, "s m"]
    targets: Float32[np.ndarray, "s m k"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedStore:
    """An open store; its arrays are maps of the files."""

    path: Path
    header: Mapping[str, Any]
    images: UInt8[np.ndarray, "s m h w c"]
    seeds: Int[np.ndarray, " s"]
    pairs: Int[np.ndarray, "s 2"]
    positions: Float32[np.ndarray, " m"]
    done: Bool[np.ndarray, " s"]

    @classmethod
    def create(
        cls,
        path: Path,
        header: Mapping[str, Any],
        *,
        sets: int,
        members: int = MEMBERS,
        shape: Sequence[int],
    ) -> Self:
        """A new store with room for `sets` sets of images of `shape` (height, width, channels)."""
        if missing := [key for key in NEEDED if key not in header]:
            raise ValueError(f"the header of a store needs {', '.join(missing)}")
        if sets < 1 or members < 2 or len(shape) != 3:
            raise ValueError(f"no store has {sets} sets of {members} images of shape {shape}")
        if (path / "header.json").exists():
            raise BadInput(f"{path} is a store already; go on with it or name another folder.")
        path.mkdir(parents=True, exist_ok=True)
        whole = {**header, "format": FORMAT, "sets": sets, "members": members, "shape": [*shape]}
        for name, (dtype, size) in _layout(whole).items():
            array = np.lib.format.open_memmap(path / name, mode="w+", dtype=dtype, shape=size)
            if name == "positions.npy":
                array[:] = np.linspace(0, 1, members, dtype=np.float32)
            array.flush()
        # Last: a folder without a header is no store yet.
        write_together(path, {"header.json": _as_text(whole)})
        return cls.open(path, "r+")

    @classmethod
    def open(cls, path: Path, mode: Literal["r", "r+"] = "r") -> Self:
        """A store that exists, to read or to go on writing; whatever does not fit is refused."""
        header = _read_header(path)
        arrays = {
            name: _mapped(path / name, dtype, size, mode)
            for name, (dtype, size) in _layout(header).items()
        }
        return cls(
            path=path,
            header=header,
            images=arrays["images.npy"],
            seeds=arrays["seeds.npy"],
            pairs=arrays["pairs.npy"],
            positions=arrays["positions.npy"],
            done=arrays["done.npy"],
        )

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, in the order of their numbers."""
        return tuple(self.header["classes"])

    def __len__(self) -> int:
        return len(self.done)

    def write_set(
        self,
        index: int,
        images: UInt8[np.ndarray, "m h w c"],
        seed: int,
        pair: tuple[int, int],
    ) -> None:
        """One set, by its position in the store."""
        self.write_sets([index], images[None], [seed], [pair])

    def write_sets(
        self,
        index: Sequence[int],
        images: UInt8[np.ndarray, "n m h w c"],
        seeds: Sequence[int],
        pairs: Sequence[tuple[int, int]],
    ) -> None:
        """Several sets: images, seeds and pairs reach the disk before any set counts as done."""
        for first, second in pairs:
            if not 0 <= first < second < len(self.classes):
                raise ValueError(f"({first}, {second}) is no pair of classes c1 < c2")
        rows = np.asarray(index, dtype=np.int64)
        self.images[rows] = images
        self.seeds[rows] = np.asarray(seeds, dtype=np.int64)
        self.pairs[rows] = np.asarray(pairs, dtype=np.int32)
        for array in (self.images, self.seeds, self.pairs):
            array.flush()  # type: ignore[attr-defined]  # a numpy.memmap
        self.done[rows] = True
        self.done.flush()  # type: ignore[attr-defined]

    def missing(self) -> Int[np.ndarray, " _"]:
        """Positions of the sets that are not done."""
        return np.flatnonzero(~self.done)

    def complete(self) -> bool:
        """Whether every set is done."""
        return bool(self.done.all())

    def annotate(
        self,
        projections: Float[np.ndarray, "s m"],
        weights: Float[np.ndarray, "s m"],
        record: Mapping[str, Any],
        *,
        targets: Float[np.ndarray, "s m k"] | None = None,
    ) -> Self:
        """The store with these annotations, in place of any before; `record` says whose they are.

        It names encoder, hash of its prototypes, split they are from, rule ("projected" or
        "direct") and scale (s or τ).
        """
        if missing := [key for key in NEEDED_ANNOTATION if key not in record]:
            raise ValueError(f"the record of an annotation needs {', '.join(missing)}")
        arrays = {"projections.npy": projections, "weights.npy": weights}
        if targets is not None:
            arrays["targets.npy"] = targets
        plain = {
            name: np.ascontiguousarray(array, dtype=np.float32) for name, array in arrays.items()
        }
        sets, members = self.images.shape[:2]
        for name, values in plain.items():
            more = (len(self.classes),) if name == "targets.npy" else ()
            _check_finite(values, self.done, (sets, members, *more), name)
        hashes = {name: _hash(values) for name, values in plain.items()}
        header = {**self.header, "annotation": {**record, "hashes": hashes}}
        # The header last: it never describes annotations that are not there.
        write_together(self.path, {**plain, "header.json": _as_text(header)})
        return self.open(self.path)

    def annotation(self) -> Annotation | None:
        """What `annotate` wrote; None where nobody did."""
        record = self.header.get("annotation")
        if record is None:
            return None
        sets, members = self.images.shape[:2]
        size = {"targets.npy": (sets, members, len(self.classes))}
        arrays = {}
        for name, known in record["hashes"].items():
            array = _mapped(self.path / name, np.float32, size.get(name, (sets, members)), "r")
            if _hash(array) != known:
                raise BadInput(
                    f"{self.path / name} is not what the header describes; annotate again."
                )
            arrays[name] = array
        return Annotation(
            record=record,
            projections=arrays["projections.npy"],
            weights=arrays["weights.npy"],
            targets=arrays.get("targets.npy"),
        )


def _layout(header: Mapping[str, Any]) -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Type and shape of every file that a store always has."""
    sets, members = header["sets"], header["members"]
    return {
        "images.npy": (np.uint8, (sets, members, *header["shape"])),
        "seeds.npy": (np.int64, (sets,)),
        "pairs.npy": (np.int32, (sets, 2)),
        "positions.npy": (np.float32, (members,)),
        "done.npy": (np.bool_, (sets,)),
    }


def _read_header(path: Path) -> dict[str, Any]:
    file = path / "header.json"
    try:
        header = json.loads(file.read_text())
    except FileNotFoundError:
        raise BadInput(
            f"{path} is no store of mixed images: it has no header.json; make one with "
            "`mixcal synthesize generate`."
        ) from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{file} cannot be read ({error}); restore it.") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise BadInput(f"{file} is not the header of a store in format {FORMAT}.")
    needed = (*NEEDED, "sets", "members", "shape")
    if missing := [key for key in needed if key not in header]:
        raise BadInput(f"{file} does not say {missing[0]!r}; restore it.")
    whole = [header["sets"], header["members"], *header["shape"]]
    if len(whole) != 5 or not all(isinstance(size, int) and size > 0 for size in whole):
        raise BadInput(f"{file}: sets, members and shape are {whole}; they must be whole numbers.")
    annotation = header.get("annotation")
    if annotation is not None:
        for key in (*NEEDED_ANNOTATION, "hashes"):
            if key not in annotation:
                raise BadInput(f"{file}: the annotation does not say {key!r}; annotate again.")
    return header


def _mapped(
    file: Path, dtype: Any, shape: tuple[int, ...], mode: Literal["r", "r+"]
) -> Shaped[np.ndarray, "..."]:
    """A map of a file that must hold exactly such an array."""
    try:
        array = np.load(file, mmap_mode=mode, allow_pickle=False)
    except FileNotFoundError:
        raise BadInput(f"{file} is missing; restore it or make the store again.") from None
    except (OSError, ValueError, EOFError) as error:
        raise BadInput(f"{file} cannot be read as an array ({error}); restore it.") from None
    if array.dtype != dtype or array.shape != shape:
        raise BadInput(
            f"{file} holds {array.dtype} {array.shape}, but the header says {np.dtype(dtype)} "
            f"{shape}; restore the file that is wrong."
        )
    return array


def _check_finite(
    values: Float32[np.ndarray, "..."],
    done: Bool[np.ndarray, " s"],
    shape: tuple[int, ...],
    name: str,
) -> None:
    if values.shape != shape or not np.isfinite(values[done]).all():
        raise ValueError(f"{name}: one finite value for every image of every finished set")


def _hash(array: Shaped[np.ndarray, "..."]) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


def _as_text(header: Mapping[str, Any]) -> str:
    return json.dumps(header, indent=1) + "\n"
