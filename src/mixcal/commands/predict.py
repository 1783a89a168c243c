"""`mixcal predict`: picture files, or a run's own test data, to classes and probabilities."""

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from mixcal.commands.ways import add_ways, members_of, predictor_of, split_words
from mixcal.commands.weights import add_weights
from mixcal.core.errors import BadInput

if TYPE_CHECKING:
    from mixcal.serving.predictor import Prediction

# Unreadable pictures named one by one; the rest is counted.
MOST_NAMED = 20
DIGITS = 6
# What the end of the file's name says.
FORMATS = {"": "csv", ".csv": "csv", ".jsonl": "jsonl", ".json": "jsonl", ".ndjson": "jsonl"}
# Columns where several predictions were averaged.
UNCERTAINTY = ("entropy", "mutual_information")


@runtime_checkable
class Writes(Protocol):
    """A file, or the screen."""

    def write(self, text: str, /) -> object: ...


def add_options(parser: argparse.ArgumentParser) -> None:
    """The models, the pictures, and how the answers are written."""
    parser.add_argument(
        "words",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="a run folder or a bundle (several: an ensemble), then picture files or folders of "
        "them, unless --split is given",
    )
    parser.add_argument(
        "--split",
        choices=("test", "validation"),
        help="predict the run's own data instead, into a file that `mixcal judge` reads",
    )
    add_ways(parser)
    parser.add_argument("--format", choices=("csv", "jsonl"), help="default: csv, or by --out")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write there, not to the screen or the run"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace --out if it is there")
    parser.add_argument("--strict", action="store_true", help="an unreadable picture is an error")
    parser.add_argument("--device", default="auto", help="cpu, cuda, … (default: auto)")
    parser.add_argument("--workers", type=int, default=4, help="threads that decode (default 4)")
    parser.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="PACKAGE",
        help="let a bundle build its network with code of this package of yours",
    )
    add_weights(parser)


def run(options: argparse.Namespace) -> int:
    """One row a picture; unreadable ones are named on the error stream and counted."""
    from mixcal.commands.progress import count_bar

    models, paths = split_words(options.words)
    if options.split is not None:
        from mixcal.commands.predict_split import predict_split

        return predict_split(options, models, paths)
    if not paths:
        raise BadInput(
            "Name picture files or folders of them after the model, or give --split test for the "
            "run's own test data."
        )
    if options.out is not None and options.out.exists() and not options.overwrite:
        raise BadInput(f"{options.out} exists already; choose another file, or say --overwrite.")
    form = _format(options)
    files = pictures(paths)
    predictor = predictor_of(options, models)
    averaged = options.mc_dropout is not None or sum(len(members_of(m)) for m in models) > 1
    bad = 0
    with _opened(options.out) as file, count_bar("predicting") as bar:
        answers = watched(predictor.files(files, workers=options.workers), bar.show, len(files))
        table = Rows(file, predictor.classes, form, averaged)
        for answer in written(answers, table):
            if not answer.error:
                continue
            if options.strict:
                raise BadInput(
                    f"{answer.path} cannot be read as a picture ({answer.error}); mend or remove "
                    "it, or leave out --strict."
                )
            bad += 1
            if bad <= MOST_NAMED:
                print(f"mixcal: {answer.path} cannot be read ({answer.error})", file=sys.stderr)
    if bad:
        print(f"mixcal: {bad:,} of {len(files):,} pictures cannot be read", file=sys.stderr)
    return 2 if bad == len(files) else 0


def pictures(paths: Iterable[Path]) -> list[Path]:
    """The files named, and all pictures in and below the folders named."""
    from mixcal.data.sources.own import pictures_below

    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside, _ = pictures_below(path)
            if not inside:
                raise BadInput(f"{path} has no pictures; name picture files or folders of them.")
            found += inside
        elif path.is_file():
            found.append(path)
        else:
            raise BadInput(f"{path} does not exist; name picture files or folders of them.")
    return found


def watched(answers: Iterator["Prediction"], show: Any, whole: int) -> Iterator["Prediction"]:
    """The same answers, counted."""
    for done, answer in enumerate(answers, start=1):
        yield answer
        show(done, whole)


@dataclass(frozen=True, slots=True)
class Rows:
    """Where rows go and what is in them; `averaged`: how far those averaged disagree, too."""

    file: Writes
    classes: tuple[str, ...]
    form: str
    averaged: bool = False

    def begin(self) -> None:
        """What comes before the first row."""
        if self.form == "csv":
            names = [f"p({name})" for name in self.classes]
            more = UNCERTAINTY if self.averaged else ()
            self._line(["path", "label", "confidence", *names, *more, "error"])

    def add(self, answer: "Prediction") -> None:
        """One row."""
        label, confidence, probs = summarized(answer, self.classes)
        more = uncertainty(answer) if self.averaged else {}
        if self.form == "csv":
            row = [answer.path, label, confidence, *probs.values(), *more.values(), answer.error]
            self._line(row)
            return
        record: dict[str, Any] = {"path": answer.path}
        if answer.error:
            record["error"] = answer.error
        else:
            record |= {"label": label, "confidence": confidence, "probabilities": probs, **more}
        self.file.write(json.dumps(record, ensure_ascii=False) + "\n")

    def _line(self, cells: Sequence[object]) -> None:
        csv.writer(self.file, lineterminator="\n").writerow(cells)


def written(answers: Iterator["Prediction"], rows: Rows) -> Iterator["Prediction"]:
    """The same answers, each written as one row."""
    rows.begin()
    for answer in answers:
        rows.add(answer)
        yield answer


def uncertainty(answer: "Prediction") -> dict[str, float | str]:
    """Entropy of the mean and mutual information, in nats; empty where there is no answer."""
    if answer.members is None:
        return dict.fromkeys(UNCERTAINTY, "")
    from mixcal.predicting.uncertainty import Uncertainty

    found = Uncertainty.of(answer.members[:, None])
    values = (float(found.total[0]), float(found.mutual_information[0]))
    return {name: round(v, DIGITS) for name, v in zip(UNCERTAINTY, values, strict=True)}


def summarized(
    answer: "Prediction", classes: tuple[str, ...]
) -> tuple[str, float | str, dict[str, float | str]]:
    """Label, confidence and the probability of each class; empty where there is no answer."""
    if answer.probs is None:
        return "", "", dict.fromkeys(classes, "")
    probs = [round(float(value), DIGITS) for value in answer.probs]
    best = int(answer.probs.argmax())
    return classes[best], probs[best], dict(zip(classes, probs, strict=True))


def _format(options: argparse.Namespace) -> str:
    if options.format:
        return str(options.format)
    suffix = "" if options.out is None else options.out.suffix
    if suffix not in FORMATS:
        raise BadInput(
            f"{options.out}: {suffix} is no format; end the name with .csv or .jsonl, or say "
            "--format."
        )
    return FORMATS[suffix]


@contextmanager
def _opened(path: Path | None) -> Iterator[Writes]:
    """The file to write, which gets its name once it is whole; or the screen."""
    if path is None:
        yield sys.stdout
        return
    if not path.absolute().parent.is_dir():
        raise BadInput(f"{path.parent} is no folder; make it, or choose another --out.")
    temporary = path.with_name(f".{path.name}.part")
    try:
        with open(temporary, "w", encoding="utf-8", newline="") as file:
            yield file
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
