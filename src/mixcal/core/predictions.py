"""Predictions: the file between training and judging, whoever made them."""

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Self

import numpy as np
from jaxtyping import Float, Int, Shaped

from mixcal.core.errors import BadInput
from mixcal.core.prediction_companions import check_companions, notes_in

Kind = Literal["logits", "probs"]
Split = Literal["labeled", "unlabeled", "validation", "test"]

# Rows of float16 and rounded CSV probabilities sum to one only roughly.
SUM_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """Scores for n samples and k classes, with the true labels.

    `kind` says what the scores are; nobody guesses it. Optional: `features` (penultimate layer),
    `members` (the scores of each member of an ensemble), `label_distributions` (what people say),
    `class_counts` (of the training set).
    """

    scores: Float[np.ndarray, "n k"]
    kind: Kind
    labels: Int[np.ndarray, " n"]
    classes: tuple[str, ...]
    ids: Shaped[np.ndarray, " n"]
    split: str = "test"
    source: str = ""
    features: Float[np.ndarray, "n d"] | None = None
    members: Float[np.ndarray, "m n k"] | None = None
    label_distributions: Float[np.ndarray, "n k"] | None = None
    class_counts: Int[np.ndarray, " k"] | None = None
    notes: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_scores(self.scores, self.kind, where=self.source or "predictions")
        check_labels(self.labels, *self.scores.shape, where=self.source or "predictions")
        if len(self.classes) != self.scores.shape[1]:
            raise BadInput(
                f"{self.source or 'predictions'}: {len(self.classes)} class names "
                f"for {self.scores.shape[1]} columns of scores; give one name a column."
            )

    @classmethod
    def of(
        cls,
        labels: np.ndarray,
        *,
        logits: np.ndarray | None = None,
        probs: np.ndarray | None = None,
        classes: Sequence[str] | None = None,
        ids: Sequence[str] | np.ndarray | None = None,
        split: str = "test",
        source: str = "",
    ) -> Self:
        """From plain arrays; say `logits=` or `probs=`."""
        if (logits is None) == (probs is None):
            raise BadInput("Predictions need exactly one of `logits` and `probs`.")
        scores = np.asarray(probs if logits is None else logits)
        if scores.ndim != 2:
            raise BadInput(
                f"{source or 'predictions'}: scores have shape {scores.shape}; "
                "they must be two-dimensional, samples by classes."
            )
        if scores.dtype.kind not in "biuf":
            raise BadInput(
                f"{source or 'predictions'}: scores are of type {scores.dtype}; "
                "they must be real numbers."
            )
        if scores.dtype not in (np.float16, np.float32):
            scores = scores.astype(np.float64, copy=False)
        check_labels(np.asarray(labels), *scores.shape, where=source or "predictions")
        names = classes if classes is not None else [str(k) for k in range(scores.shape[1])]
        return cls(
            scores=scores,
            kind="probs" if logits is None else "logits",
            labels=np.asarray(labels),
            classes=tuple(str(name) for name in names),
            ids=np.arange(len(scores)) if ids is None else np.asarray(ids),
            split=split,
            source=source,
        )

    def __len__(self) -> int:
        return int(self.scores.shape[0])

    @property
    def probs(self) -> Float[np.ndarray, "n k"]:
        """Probabilities, by softmax where the scores are logits."""
        return softmax(self.scores) if self.kind == "logits" else self.scores

    @property
    def logits(self) -> Float[np.ndarray, "n k"]:
        """Logits; log-probabilities where the scores are probabilities (exact zeros give −inf)."""
        return as_logits(self.scores, self.kind)

    def take(self, index: Shaped[np.ndarray, " m"]) -> Self:
        """The samples at these positions (or where the mask is true)."""

        def some(array: np.ndarray | None) -> np.ndarray | None:
            return None if array is None else array[index]

        return replace(
            self,
            scores=self.scores[index],
            labels=self.labels[index],
            ids=self.ids[index],
            features=some(self.features),
            members=None if self.members is None else self.members[:, index],
            label_distributions=some(self.label_distributions),
        )

    def save(self, path: Path) -> None:
        """Write an uncompressed `.npz` that needs no pickle to read."""
        arrays: dict[str, np.ndarray] = {
            self.kind: self.scores,
            "labels": self.labels,
            "ids": self.ids,
            "classes": np.array(self.classes),
            "split": np.array(self.split),
            "source": np.array(self.source),
            "notes": np.array(json.dumps(self.notes)),
        }
        optional = {
            "features": self.features,
            "members": self.members,
            "label_distributions": self.label_distributions,
            "class_counts": self.class_counts,
        }
        arrays.update({name: array for name, array in optional.items() if array is not None})
        with open(path, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]  # numpy types **kwds as its flag

    @classmethod
    def load(cls, path: Path, *, unsaid: str = "test") -> Self:
        """Read a `.npz` with `labels` and one of `logits` and `probs`; the rest is optional.

        `unsaid`: the split of a file that names none.
        """
        return cls.from_arrays(cls.arrays_of(path), where=str(path), unsaid=unsaid)

    @staticmethod
    def arrays_of(path: Path) -> dict[str, np.ndarray]:
        """What a `.npz` holds, unchecked; nothing is unpickled."""
        try:
            with open(path, "rb") as raw:
                if not zipfile.is_zipfile(raw):
                    raise BadInput(f"{path} is no .npz file, or half of one; write it again.")
                raw.seek(0)
                with np.load(raw, allow_pickle=False) as file:
                    return dict(file)
        except FileNotFoundError:
            raise BadInput(f"{path} does not exist; give the path of a prediction file.") from None
        except BadInput:
            raise
        except Exception as error:
            if "allow_pickle" in str(error):
                raise BadInput(
                    f"{path} holds Python objects, which mixcal does not unpickle; write numbers "
                    "and texts only."
                ) from None
            raise BadInput(
                f"{path} cannot be read as a .npz file ({error}); make it anew."
            ) from None

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, np.ndarray], *, where: str, unsaid: str = "test"
    ) -> Self:
        """From the arrays of a prediction file."""
        if "labels" not in arrays:
            raise BadInput(f"{where} has no array `labels`; add the true class of each sample.")
        if not {"logits", "probs"} & set(arrays):
            raise BadInput(f"{where} must hold one of the arrays `logits` and `probs`; add one.")
        if {"logits", "probs"} <= set(arrays):
            check_same(arrays["logits"], arrays["probs"], where=where)
            arrays = {name: array for name, array in arrays.items() if name != "probs"}
        check_companions(arrays, arrays.get("logits", arrays.get("probs")), where=where)
        made = cls.of(
            arrays["labels"],
            logits=arrays.get("logits"),
            probs=arrays.get("probs"),
            classes=arrays["classes"].tolist() if "classes" in arrays else None,
            ids=arrays.get("ids"),
            split=str(arrays.get("split", unsaid)),
            source=str(arrays.get("source", where)),
        )
        return replace(
            made,
            features=arrays.get("features"),
            members=arrays.get("members"),
            label_distributions=arrays.get("label_distributions"),
            class_counts=arrays.get("class_counts"),
            notes=notes_in(str(arrays.get("notes", "{}")), where=where),
        )


def as_logits(scores: Float[np.ndarray, "n k"], kind: Kind) -> Float[np.ndarray, "n k"]:
    """Logits that stand for these scores: themselves, or the logarithms of probabilities."""
    if kind == "logits":
        return scores
    with np.errstate(divide="ignore"):
        return np.log(scores)


def softmax(logits: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    """exp(z_k) / Σ exp(z_j), in the precision of the input."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    np.exp(shifted, out=shifted)
    shifted /= shifted.sum(axis=-1, keepdims=True)
    return shifted


def check_same(logits: np.ndarray, probs: np.ndarray, *, where: str) -> None:
    """Refuse logits and probabilities that say different things of the same samples."""
    if logits.shape == probs.shape and logits.ndim == 2 and len(logits):
        apart = np.abs(softmax(logits.astype(np.float64)) - probs).max(axis=1)
        if (apart <= SUM_TOLERANCE).all():
            return
        row = int(np.argmax(~(apart <= SUM_TOLERANCE)))
        raise BadInput(
            f"{where}: the logits and the probs of row {row} contradict each other; keep one of "
            "the two arrays."
        )
    raise BadInput(
        f"{where}: logits of shape {logits.shape} and probs of shape {probs.shape} contradict "
        "each other; keep one of the two arrays."
    )


def check_scores(
    scores: Float[np.ndarray, "n k"], kind: Kind, *, where: str, part: bool = False
) -> None:
    """Refuse empty or non-finite scores, and scores that contradict what they are said to be.

    One row of logits may sum to one by chance: of a `part` of more to come that proves nothing.
    """
    n, k = scores.shape
    if n == 0 or k < 2:
        raise BadInput(f"{where}: scores of shape {n} × {k}; need a sample and two classes.")
    with np.errstate(invalid="ignore", over="ignore"):
        sums = scores.sum(axis=1, dtype=np.float64)
    if np.isnan(sums).any() and (bad := np.flatnonzero(np.isnan(scores).any(axis=1))).size:
        raise BadInput(f"{where}: row {bad[0]} of the {kind} holds NaN; drop or repair the row.")
    low = float(scores.min())
    sums_to_one = bool((np.abs(sums - 1) <= SUM_TOLERANCE).all())
    if kind == "probs":
        if low < 0 or not sums_to_one:
            row = int(np.argmax((np.abs(sums - 1) > SUM_TOLERANCE) | (scores.min(axis=1) < 0)))
            raise BadInput(
                f"{where}: row {row} of the probabilities sums to {sums[row]:.6g} with smallest "
                f"value {scores[row].min():.6g}; if these are logits, say logits."
            )
        return
    if np.isposinf(scores).any() or (np.isneginf(sums).any() and (scores == -np.inf).all(1).any()):
        raise BadInput(f"{where}: the logits hold +inf or a row of −inf only; repair the rows.")
    if low >= 0 and sums_to_one and not part:
        raise BadInput(
            f"{where}: every row of the logits is non-negative and sums to one; "
            "if these are probabilities, say probs."
        )


def check_labels(labels: np.ndarray, n: int, k: int, *, where: str) -> None:
    """Refuse labels that are not one class in range for each sample."""
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise BadInput(
            f"{where}: labels have shape {labels.shape} and type {labels.dtype}; "
            "they must be one integer class a sample."
        )
    if len(labels) != n:
        raise BadInput(f"{where}: {len(labels)} labels for {n} rows of scores; match them.")
    outside = np.flatnonzero((labels < 0) | (labels >= k))
    if outside.size:
        row = int(outside[0])
        raise BadInput(
            f"{where}: label {int(labels[row])} of row {row} is outside 0 … {k - 1}; "
            "fix the label or add the class."
        )
