"""MR in its published layout: folds partition the sentences; the real files have their counts."""

import os
from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.sources.movie_reviews import folds, read_mr
from tests.support.published import options, reading


def written(folder: Path) -> Path:
    (folder / "mr").mkdir()
    negative = "\n".join(f"dull number {k}" for k in range(20))
    (folder / "mr" / "rt-polarity.neg").write_text(negative + "\n")
    positive = "\n".join(f"a bright caf\xe9 , number {k}" for k in range(20))
    (folder / "mr" / "rt-polarity.pos").write_bytes(positive.encode("cp1252"))
    return folder


def test_folds_partition_the_sentences(tmp_path: Path) -> None:
    folder, seen = written(tmp_path), []
    for fold in range(10):
        source = read_mr(options("mr", variant=f"fold-{fold}"), reading(folder))
        assert (len(source.train), len(source.test)) == (36, 4)
        assert not set(source.train.ids) & set(source.test.ids)
        seen += source.test.ids.tolist()
    assert len(set(seen)) == 40


def test_labels_and_words(tmp_path: Path) -> None:
    source = read_mr(options("mr"), reading(written(tmp_path)))
    words = source.words
    assert source.classes == ("negative", "positive")
    assert source.kind == "text"
    for row in range(4):
        first = words[int(source.test.take(np.array([row]))[0, 0])]
        assert first == ("dull" if source.test.labels[row] == 0 else "a")


def test_folds_are_fixed() -> None:
    assert np.array_equal(folds(10_662), folds(10_662))
    assert np.bincount(folds(10_662)).tolist() == [1067] * 2 + [1066] * 8


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"rt-polarity.neg"):
        read_mr(options("mr"), reading(tmp_path))


@pytest.mark.real_data
def test_real_counts() -> None:
    source = read_mr(options("mr"), reading(Path(os.environ["MIXCAL_DATA"])))
    assert len(source.train) + len(source.test) == 10_662
    everything = np.concatenate([source.train.labels, source.test.labels])
    assert np.bincount(everything).tolist() == [5331, 5331]
