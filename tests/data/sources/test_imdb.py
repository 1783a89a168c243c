"""IMDB in its published layout, made small; unlabeled reviews on request."""

from pathlib import Path

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.sources.imdb import read_imdb
from tests.support.published import options, reading


def written(folder: Path) -> Path:
    for part, kinds in (("train", ("neg", "pos", "unsup")), ("test", ("neg", "pos"))):
        for kind in kinds:
            where = folder / "imdb" / "aclImdb" / part / kind
            where.mkdir(parents=True)
            for k in range(3):
                text = f"It was {kind}.<br /><br />Number {k} " + "so " * (500 if k == 0 else 1)
                (where / f"{k}_{k + 1}.txt").write_text(text, encoding="utf-8")
    return folder


def test_labels_words_and_length(tmp_path: Path) -> None:
    source = read_imdb(options("imdb"), reading(written(tmp_path)))
    assert source.train.labels.tolist() == [0] * 3 + [1] * 3
    assert source.test.labels.tolist() == [0] * 3 + [1] * 3
    raw = source.train.take(np.arange(6))
    assert raw.shape == (6, 400)
    words = [source.words[number] for number in raw[1].tolist() if number]
    assert words == ["it", "was", "neg", "number", "1", "so"]


def test_unlabeled_reviews(tmp_path: Path) -> None:
    source = read_imdb(options("imdb", variant="unlabeled"), reading(written(tmp_path)))
    assert source.train.labels.tolist() == [0] * 3 + [1] * 3 + [-1] * 3
    assert len(source.test) == 6


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="aclImdb"):
        read_imdb(options("imdb"), reading(tmp_path))
    (tmp_path / "imdb").mkdir()
    (tmp_path / "imdb" / "aclImdb_v1.tar.gz").touch()
    with pytest.raises(BadInput, match="unpack"):
        read_imdb(options("imdb"), reading(tmp_path))
