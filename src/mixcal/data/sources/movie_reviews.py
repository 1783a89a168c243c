"""MR: 10,662 sentences of film reviews, negative or positive (Pang & Lee, ACL 2005).

`rt-polarity.neg` and `rt-polarity.pos`, one sentence a line, Windows-1252 as published or UTF-8.
There is no test part: ten folds are usual, and `variant = "fold-3"` holds out the fourth of them
(default the first). The folds are the same for every seed of a run.
"""

import numpy as np

from mixcal.core.seeds import derive
from mixcal.data.options import DataOptions
from mixcal.data.reading import Reading
from mixcal.data.source import Source
from mixcal.data.sources.text_files import lines_of, text_file
from mixcal.data.sources.variant import words
from mixcal.data.text import Texts, library

NAME = "mr"
CLASSES = ("negative", "positive")
FILES = ("rt-polarity.neg", "rt-polarity.pos")
FOLDS = 10
FOLD_NAMES = tuple(f"fold-{fold}" for fold in range(FOLDS))


def read_mr(options: DataOptions, reading: Reading) -> Source:
    """The sentences, one fold held out as test data."""
    chosen = sorted(words(options, FOLD_NAMES) & set(FOLD_NAMES)) or [FOLD_NAMES[0]]
    texts: list[str] = []
    labels: list[int] = []
    names: list[str] = []
    for label, file in enumerate(FILES):
        lines = lines_of(text_file(NAME, file, reading), ("utf-8", "cp1252"))
        texts += lines
        labels += [label] * len(lines)
        names += [f"{file}/{line:04d}" for line in range(len(lines))]
    fold = folds(len(texts))
    held = np.isin(fold, [FOLD_NAMES.index(name) for name in chosen])
    parts = {}
    for name, here in (("train", ~held), ("test", held)):
        rows = np.flatnonzero(here)
        parts[name] = Texts(
            texts=[texts[row] for row in rows],
            labels=np.array(labels, dtype=np.int64)[rows],
            names=[names[row] for row in rows],
        )
    found = library(parts)
    return Source(
        name=NAME,
        classes=CLASSES,
        train=found.pools["train"],
        test=found.pools["test"],
        kind="text",
        flips=False,
        words=found.words,
    )


def folds(count: int) -> np.ndarray:
    """The fold of each sentence: ten of nearly equal size, drawn once and for all."""
    order = np.random.default_rng(derive(0, "folds", NAME)).permutation(count)
    fold = np.empty(count, dtype=np.int64)
    fold[order] = np.arange(count) % FOLDS
    return fold
