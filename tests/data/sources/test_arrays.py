"""Arrays from Python as a source: the same pixels and labels, and a run out of them."""

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.options import DataOptions
from mixcal.data.sources.arrays import source_from_arrays
from mixcal.data.splits import split
from tests.support.published import random_images

IMAGES = random_images(12, 6, 6)
LABELS = np.array([0, 1, 2] * 3 + [-1] * 3)


def test_minus_one_means_unlabeled() -> None:
    source = source_from_arrays(IMAGES, LABELS, classes=["a", "b", "c"])
    assert source.train.take(np.arange(12))[:, 0].numpy().tolist() == IMAGES.tolist()
    found = split(source, DataOptions(labels_per_class=2, validation="none"), seed=0)
    assert np.bincount(LABELS[found.labeled]).tolist() == [2, 2, 2]
    assert len(found.unlabeled) == 12
    # A person's own data give validation out of their labels.
    assert split(source, DataOptions(), seed=0).validation_from == "labels"


def test_colour_and_gray_may_not_meet() -> None:
    with pytest.raises(BadInput, match="bring them to one shape"):
        source_from_arrays(
            IMAGES, LABELS, test_images=random_images(2, 6, 6, 3), test_labels=np.array([0, 1])
        )
