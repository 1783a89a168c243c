"""Long-tailed class sizes against the published counts of CIFAR-10-LT and CIFAR-100-LT."""

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.longtail import long_tailed

TEN = {
    10: [5000, 3871, 2997, 2320, 1796, 1391, 1077, 834, 645, 500],
    100: [5000, 2997, 1796, 1077, 645, 387, 232, 139, 83, 50],
}


@pytest.mark.parametrize("imbalance", TEN)
def test_cifar_10(imbalance: int) -> None:
    labels = np.repeat(np.arange(10), 5000)
    assert long_tailed(labels, float(imbalance), None, classes=list("abcdefghij")) == TEN[imbalance]


def test_the_head_is_as_large_as_every_class_allows() -> None:
    # Shares 1, 0.1 and 0.01; the last class has too few for a head of all 5,000.
    labels = np.repeat(np.arange(3), [5000, 4000, 12])
    counts = long_tailed(labels, 100.0, None, classes=list("abc"))
    assert counts == [1299, 129, 12]
    with pytest.raises(BadInput, match=r"asks for 13 images of class 'c', which has 12; .* 1,299"):
        long_tailed(labels, 100.0, 1300, classes=list("abc"))


@pytest.mark.parametrize(("imbalance", "total"), [(10, 19_573), (100, 10_847)])
def test_cifar_100(imbalance: int, total: int) -> None:
    counts = long_tailed(
        np.repeat(np.arange(100), 500), float(imbalance), None, classes=[str(k) for k in range(100)]
    )
    assert sum(counts) == total
    assert counts == sorted(counts, reverse=True)
