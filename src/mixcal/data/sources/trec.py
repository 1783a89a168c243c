"""TREC: 5,452 questions and 500 more, by the kind of answer they want (Li & Roth, COLING 2002).

`TREC.train` and `TREC.test`, or train_5500.label and TREC_10.label as first published: lines
"COARSE:fine question" in ISO-8859-1. Six coarse classes, or with `variant = "fine"` the fine ones.
"""

from pathlib import Path

import numpy as np

from mixcal.core.errors import BadInput
from mixcal.data.options import DataOptions
from mixcal.data.reading import Reading
from mixcal.data.source import Source
from mixcal.data.sources.place import first_there, places
from mixcal.data.sources.text_files import FOLDER, lines_of, text_file
from mixcal.data.sources.variant import words
from mixcal.data.text import Texts, library

NAME = "trec"
FILES = {
    "train": ("TREC.train", "train_5500.label"),
    "test": ("TREC.test", "TREC_10.label"),
}


def read_trec(options: DataOptions, reading: Reading) -> Source:
    """The questions."""
    fine = "fine" in words(options, ("fine",))
    found = {part: _questions(_file(part, reading), fine=fine) for part in FILES}
    classes = sorted({kind for kinds, _ in found.values() for kind in kinds})
    if len(classes) < 2:
        raise BadInput(f"{_file('train', reading)} has questions of one kind only; get it again.")
    parts = {
        part: Texts(
            texts=questions,
            labels=np.array([classes.index(kind) for kind in kinds], dtype=np.int64),
            names=[f"{NAME}/{part}/{row:04d}" for row in range(len(questions))],
        )
        for part, (kinds, questions) in found.items()
    }
    pools = library(parts)
    return Source(
        name=NAME,
        classes=tuple(classes),
        train=pools.pools["train"],
        test=pools.pools["test"],
        kind="text",
        flips=False,
        words=pools.words,
    )


def _file(part: str, reading: Reading) -> Path:
    found = first_there(places(NAME, reading, FOLDER), FILES[part])
    return found if found is not None else text_file(NAME, FILES[part][0], reading)


def _questions(path: Path, *, fine: bool) -> tuple[list[str], list[str]]:
    """The kinds of a file's questions, and the questions."""
    kinds, questions = [], []
    for place, line in enumerate(lines_of(path, ("iso-8859-1",)), start=1):
        kind, _, question = line.partition(" ")
        coarse, colon, _ = kind.partition(":")
        if not colon or not question:
            raise BadInput(f"{path}, line {place}: {line[:40]!r} is not KIND:kind and a question.")
        kinds.append(kind if fine else coarse)
        questions.append(question)
    return kinds, questions
