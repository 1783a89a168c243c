"""TREC in its published layout, Latin-1 letters included; the real files have their counts."""

import os
from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.sources.trec import read_trec
from tests.support.published import options, reading

TRAIN = "NUM:date When was Caf\xe9 M\xfcller built ?\nHUM:ind Who was it ?\nNUM:count How many ?\n"
TEST = "HUM:gr Who are they ?\nNUM:date When ?\n"


def written(folder: Path, *, train: str = TRAIN, names=("TREC.train", "TREC.test")) -> Path:
    (folder / "text").mkdir()
    (folder / "text" / names[0]).write_bytes(train.encode("iso-8859-1"))
    (folder / "text" / names[1]).write_bytes(TEST.encode("iso-8859-1"))
    return folder


@pytest.mark.parametrize(
    "names", [("TREC.train", "TREC.test"), ("train_5500.label", "TREC_10.label")]
)
def test_coarse_classes(tmp_path: Path, names) -> None:
    source = read_trec(options("trec"), reading(written(tmp_path, names=names)))
    assert source.classes == ("HUM", "NUM")
    assert source.train.labels.tolist() == [1, 0, 1]
    assert source.test.labels.tolist() == [0, 1]
    words = source.words
    # é and ü are no letters of the vocabulary, so they end a word; bytes above 127 are read.
    first = [words[number] for number in source.train.take(np.array([0]))[0].tolist()]
    assert first == ["when", "was", "caf", "m", "ller", "built", "?"]


def test_fine_classes(tmp_path: Path) -> None:
    source = read_trec(options("trec", variant="fine"), reading(written(tmp_path)))
    assert source.classes == ("HUM:gr", "HUM:ind", "NUM:count", "NUM:date")


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    folder = written(tmp_path, train=TRAIN + "no kind at all\n")
    with pytest.raises(BadInput, match=r"TREC.train, line 4"):
        read_trec(options("trec"), reading(folder))


@pytest.mark.real_data
def test_real_counts() -> None:
    source = read_trec(options("trec"), reading(Path(os.environ["MIXCAL_DATA"])))
    assert (len(source.train), len(source.test)) == (5452, 500)
    assert source.classes == ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
