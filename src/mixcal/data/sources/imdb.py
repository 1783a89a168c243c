"""IMDB: 25,000 + 25,000 film reviews, negative or positive (Maas et al., ACL 2011).

The folder aclImdb as aclImdb_v1.tar.gz unpacks: {train,test}/{neg,pos}/*.txt in
UTF-8, and train/unsup with 50,000 more that nobody labeled; `variant = "unlabeled"` takes those in.
Reviews are cut off after 400 words.
"""

import re
from pathlib import Path

import numpy as np

from mixcal.core.errors import BadInput
from mixcal.data.options import DataOptions
from mixcal.data.pool import UNLABELED
from mixcal.data.reading import Reading
from mixcal.data.source import Source
from mixcal.data.sources.place import first_there, places
from mixcal.data.sources.text_files import FOLDER
from mixcal.data.sources.variant import words
from mixcal.data.text import Texts, library

NAME = "imdb"
ROOT = "aclImdb"
ARCHIVE = "aclImdb_v1.tar.gz"
CLASSES = ("negative", "positive")
LABELS = {"neg": 0, "pos": 1, "unsup": UNLABELED}
LONGEST = 400
BREAK = re.compile(r"<br\s*/?>")


def read_imdb(options: DataOptions, reading: Reading) -> Source:
    """The reviews."""
    kinds = ["neg", "pos", *(["unsup"] if "unlabeled" in words(options, ("unlabeled",)) else [])]
    root = first_there(places(NAME, reading, FOLDER), [ROOT])
    if root is None and first_there(places(NAME, reading, FOLDER), [ARCHIVE]):
        raise BadInput(
            f"{first_there(places(NAME, reading, FOLDER), [ARCHIVE])} is packed; unpack it beside "
            "itself (tar -xzf)."
        )
    if root is None:
        raise BadInput(
            f"{NAME} is not in {reading.folder} (looked for {NAME}/{ROOT}); `mixcal data list` "
            "says where it is published."
        )
    parts = {
        "train": _reviews(root, "train", kinds),
        "test": _reviews(root, "test", kinds[:2]),
    }
    found = library(parts, longest=LONGEST)
    return Source(
        name=NAME,
        classes=CLASSES,
        train=found.pools["train"],
        test=found.pools["test"],
        kind="text",
        flips=False,
        words=found.words,
    )


def _reviews(root: Path, part: str, kinds: list[str]) -> Texts:
    """The files of some folders, in the order of their names."""
    texts, labels, names = [], [], []
    for kind in kinds:
        folder = root / part / kind
        files = sorted(folder.glob("*.txt")) if folder.is_dir() else []
        if not files:
            raise BadInput(f"{folder} has no reviews (*.txt); unpack {ARCHIVE} again.")
        for file in files:
            try:
                texts.append(BREAK.sub(" ", file.read_text(encoding="utf-8")))
            except (OSError, UnicodeDecodeError) as error:
                raise BadInput(f"{file} cannot be read ({error}); unpack it again.") from None
            labels.append(LABELS[kind])
            names.append(f"{part}/{kind}/{file.stem}")
    return Texts(texts=texts, labels=np.array(labels, dtype=np.int64), names=names)
