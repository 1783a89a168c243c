"""Prediction files of any origin: .npz, CSV, Parquet, and the run folders of `mixcal train`.

A table has one row a sample, a column `label` (a class name, or its number from 0 on) and one
column of scores a class: `logit_NAME` or `prob_NAME`, or any names if the caller says what they
are. Parquet may keep all scores in one list column, `logits` or `probs`. Columns `id` and `split`
are optional.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Shaped

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Kind, Predictions

if TYPE_CHECKING:
    import pyarrow

LABEL_COLUMNS = ("label", "labels", "target", "y_true")
ID_COLUMNS = ("id", "ids")
PREFIXES: Mapping[Kind, tuple[str, ...]] = {
    "logits": ("logit_", "logits_"),
    "probs": ("prob_", "probs_"),
}
DELIMITERS = ",;\t|"
# What a person looks at first; then the rest by name.
HEADLINE = ("test", "test-raw", "validation", "validation-raw")


def read_predictions(path: Path, kind: Kind | None = None, *, unsaid: str = "test") -> Predictions:
    """One file; `kind` says what the scores are where the file does not, and must not differ.

    `unsaid`: the split of a file that names none.
    """
    return Predictions.from_arrays(_arrays(path, kind), where=str(path), unsaid=unsaid)


def read_foreign(path: Path, kind: Kind | None = None) -> Predictions:
    """Predictions on samples that belong to none of the classes: labels are not asked for."""
    arrays = _arrays(path, kind, labels=False)
    scores = arrays.get("logits", arrays.get("probs"))
    return Predictions.from_arrays(
        arrays | {"labels": np.zeros(0 if scores is None else len(scores), dtype=np.int64)},
        where=str(path),
    )


def prediction_files(path: Path) -> dict[str, Path]:
    """The files of a run folder by name, what matters most first; of a file, itself."""
    if not path.exists():
        raise BadInput(f"{path} does not exist; give a prediction file or a run folder.")
    if not path.is_dir():
        return {path.stem: path}
    found = {file.stem: file for file in sorted((path / "predictions").glob("*.npz"))}
    if not found:
        raise BadInput(
            f"{path} holds no predictions/*.npz; give a run folder that `mixcal train` has "
            "finished, or a prediction file."
        )
    order = [name for name in HEADLINE if name in found]
    return {name: found[name] for name in (*order, *(n for n in found if n not in order))}


def read_shares(path: Path) -> Float[np.ndarray, "n k"]:
    """What people say, from an .npz: `counts` of votes, or `label_distributions`."""
    arrays = {
        name: array
        for name, array in Predictions.arrays_of(path).items()
        if array.ndim == 2 and array.dtype.kind in "biuf"
    }
    if "label_distributions" in arrays:
        return arrays["label_distributions"].astype(np.float64)
    if "counts" not in arrays:
        raise BadInput(
            f"{path} has neither `counts` (samples by classes) nor `label_distributions` in "
            "numbers; add one."
        )
    votes = arrays["counts"].astype(np.float64)
    if (votes < 0).any() or (votes.sum(1) == 0).any():
        row = int(((votes < 0).any(1) | (votes.sum(1) == 0)).argmax())
        raise BadInput(f"{path}: row {row} of the counts has no votes; drop the row.")
    return votes / votes.sum(1, keepdims=True)


def _arrays(path: Path, kind: Kind | None, *, labels: bool = True) -> dict[str, np.ndarray]:
    ending = path.suffix.lower()
    if ending in (".csv", ".tsv", ".txt"):
        return Columns.of_text(path).arrays(kind, labels=labels)
    if ending in (".parquet", ".pq"):
        return Columns.of_parquet(path).arrays(kind, labels=labels)
    arrays = Predictions.arrays_of(path)
    if kind is not None and kind not in arrays and ({"logits", "probs"} & set(arrays)):
        raise BadInput(f"{path} holds no {kind} but {_other(kind)}; leave --{kind} out.")
    if kind is not None:
        arrays.pop(_other(kind), None)
    return arrays


def _other(kind: Kind) -> Kind:
    return "probs" if kind == "logits" else "logits"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table of predictions."""

    path: Path
    table: "pyarrow.Table"

    @classmethod
    def of_text(cls, path: Path) -> "Columns":
        """CSV, or the same with semicolons, tabs or bars."""
        import pyarrow
        from pyarrow import csv

        try:
            with open(path, "rb") as file:
                first = file.readline()
            delimiter = max(DELIMITERS, key=lambda mark: first.count(mark.encode()))
            table = csv.read_csv(path, parse_options=csv.ParseOptions(delimiter=delimiter))
            _ = table.column_names  # decodes them
        except FileNotFoundError:
            raise BadInput(f"{path} does not exist; give the path of a prediction file.") from None
        except (pyarrow.ArrowException, OSError, UnicodeError) as error:
            raise BadInput(f"{path} cannot be read ({_line(error)}); mend the table.") from None
        return cls(path, table)

    @classmethod
    def of_parquet(cls, path: Path) -> "Columns":
        """Parquet."""
        import pyarrow
        from pyarrow import parquet

        try:
            table = parquet.read_table(path)
        except FileNotFoundError:
            raise BadInput(f"{path} does not exist; give the path of a prediction file.") from None
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise BadInput(f"{path} is no Parquet file ({_line(error)}); write it again.") from None
        return cls(path, table)

    def arrays(self, kind: Kind | None, *, labels: bool = True) -> dict[str, np.ndarray]:
        """As a `.npz` of predictions holds them."""
        names = list(self.table.column_names)
        if len(set(names)) < len(names):
            raise BadInput(f"{self.path} has two columns of the same name; rename one.")
        kind, scores, classes = self._scores(names, kind)
        found = {kind: scores, "classes": np.array(classes)}
        for name in [name for name in names if name in LABEL_COLUMNS and labels][:1]:
            found["labels"] = self._labels(name, classes)
        if "labels" not in found and labels:
            raise BadInput(
                f"{self.path} has no column `label` (it has {', '.join(names[:8])}); "
                "add the true class of each sample."
            )
        for name in [name for name in names if name in ID_COLUMNS][:1]:
            found["ids"] = np.array(self.table.column(name).to_pylist())
        if "split" in names:
            splits = {str(value) for value in self.table.column("split").unique().to_pylist()}
            if len(splits) > 1:
                raise BadInput(
                    f"{self.path} holds the splits {', '.join(sorted(splits))}; give one file "
                    "for each."
                )
            found["split"] = np.array(next(iter(splits), "test"))
        return found

    def _scores(
        self, names: list[str], kind: Kind | None
    ) -> tuple[Kind, Float[np.ndarray, "n k"], list[str]]:
        """What the scores are, the scores, and what the classes are called."""
        kinds: tuple[Kind, ...] = ("logits", "probs") if kind is None else (kind,)
        marked: dict[Kind, list[str]] = {
            each: [name for name in names if name == each or name.startswith(PREFIXES[each])]
            for each in kinds
        }
        held = [each for each in kinds if marked[each]]
        if len(held) > 1:
            raise BadInput(f"{self.path} holds logits and probs; choose with --logits or --probs.")
        if held:
            return self._marked(held[0], marked[held[0]])
        if kind is None:
            raise BadInput(
                f"{self.path}: no column is called logit_… or prob_…; rename them, or say what "
                "the scores are with --logits or --probs."
            )
        contrary = [name for name in names if name.startswith(PREFIXES[_other(kind)])]
        if contrary:
            raise BadInput(
                f"{self.path}: column {contrary[0]!r} is not one of {kind}; leave --{kind} out."
            )
        rest = [n for n in names if n not in (*LABEL_COLUMNS, *ID_COLUMNS, "split")]
        return kind, self._stack(rest), rest

    def _marked(
        self, kind: Kind, columns: list[str]
    ) -> tuple[Kind, Float[np.ndarray, "n k"], list[str]]:
        if kind in columns:
            return kind, (scores := self._lists(kind)), [str(k) for k in range(scores.shape[1])]
        stripped = [name.partition("_")[2] for name in columns]
        return kind, self._stack(columns), stripped

    def _lists(self, name: str) -> Float[np.ndarray, "n k"]:
        """A column of lists that are all of one length."""
        import pyarrow.compute

        column: Any = self.table.column(name).combine_chunks()
        try:
            lengths = pyarrow.compute.list_value_length(column).unique().to_pylist()
            if len(lengths) != 1 or not lengths[0]:
                raise ValueError("they differ in length")
            flat = column.flatten().cast("float64").to_numpy(zero_copy_only=False)
        except (ValueError, NotImplementedError) as error:
            raise BadInput(
                f"{self.path}: column {name!r} does not hold one list of numbers a sample "
                f"({_line(error)}); write it again."
            ) from None
        return flat.reshape(len(column), lengths[0])

    def _stack(self, columns: list[str]) -> Float[np.ndarray, "n k"]:
        stacked = np.empty((self.table.num_rows, len(columns)))
        for place, name in enumerate(columns):
            column: Any = self.table.column(name)
            try:
                stacked[:, place] = column.cast("float64").to_numpy()
            except (ValueError, NotImplementedError) as error:  # Arrow's errors are ValueErrors
                raise BadInput(
                    f"{self.path}: column {name!r} is not all numbers ({_line(error)}); "
                    "mend or drop it."
                ) from None
        return stacked

    def _labels(self, name: str, classes: list[str]) -> Shaped[np.ndarray, " n"]:
        """By the class's name; by its number where no class is called so."""
        values = self.table.column(name).to_pylist()
        texts = ["" if value is None else _text(value) for value in values]
        if "" in texts:
            raise BadInput(f"{self.path}: row {texts.index('')} has no {name}; drop or mend it.")
        place = {text: k for k, text in enumerate(classes)}
        number = {str(k): k for k in range(len(classes))}
        found = [
            way for way in (place, number) if all(text in way for text in dict.fromkeys(texts))
        ]
        if not found:
            return self._whole_numbers(texts, place)
        # Classes that are all numbers, but not these, as in a count that begins with 1.
        if len(found) == 2 and _are_other_numbers(classes):
            raise BadInput(
                f"{self.path}: the classes are called {', '.join(classes[:8])}, and whether a "
                f"label is such a name or counts from 0 to {len(classes) - 1} cannot be told; call "
                "the columns by words, or from 0 on."
            )
        return np.array([found[0][text] for text in texts], dtype=np.int64)

    def _whole_numbers(self, texts: list[str], place: dict[str, int]) -> Shaped[np.ndarray, " n"]:
        """Numbers, some of which no class has: what they are outside of is said elsewhere."""
        wrong = [not text.lstrip("-").isdecimal() for text in texts]
        if not any(wrong):
            return np.array([int(text) for text in texts], dtype=np.int64)
        if any(text in place for text in texts):
            wrong = [text not in place for text in texts]
        row = wrong.index(True)
        raise BadInput(
            f"{self.path}: label {texts[row]!r} of row {row} is none of the classes "
            f"{', '.join(list(place)[:8])}{' …' if len(place) > 8 else ''}; rename one."
        )


def _are_other_numbers(classes: list[str]) -> bool:
    """Whether all are whole numbers, but not those from 0 on."""
    numbers = {str(k) for k in range(len(classes))}
    return set(classes) != numbers and all(name.lstrip("-").isdecimal() for name in classes)


def _text(value: object) -> str:
    """A label as text; 3.0, which tables make of 3 beside an empty cell, is 3."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def _line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "").rstrip(".")
