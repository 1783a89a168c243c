"""The digits source against scikit-learn's own loader."""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from mixcal.data.options import DataOptions
from mixcal.data.reading import Reading
from mixcal.data.sources.digits import read_digits


def test_odd_positions_are_the_test_set() -> None:
    source = read_digits(DataOptions(), Reading(folder=Path()))
    digits = load_digits()
    assert (len(source.train), len(source.test)) == (899, 898)
    assert np.array_equal(source.test.labels, digits.target[1::2])
    seen = source.train.take(np.array([5])).numpy()[0, 0]
    assert np.array_equal(seen, np.rint(digits.images[10] * 255 / 16))
    assert not source.flips
