"""Histogram binning against a slow loop over bins, and by hand."""

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.judging.rescaling.histogram import HistogramBinning


def test_two_bins_by_hand() -> None:
    q = np.array([0.1, 0.3, 0.45, 0.6, 0.9])
    z = np.log(np.stack([1 - q, q], axis=1))
    labels = np.array([0, 0, 1, 1, 1])
    fitted = HistogramBinning.fit(z, labels, bins=2, binning="equal-width")
    # q of class 1: (.1 .3 .45] are right one time in three, (.6 .9] always.
    assert np.allclose(fitted.values[1], [1 / 3, 1])
    assert np.allclose(fitted.transform(z)[:, 1], [1 / 3, 1 / 3, 1 / 3, 1, 1])


@pytest.mark.parametrize("binning", ["equal-mass", "equal-width"])
def test_a_slow_loop_says_the_same(binning: str) -> None:
    generator = np.random.default_rng(0)
    z = generator.standard_normal((300, 3)) * 2
    labels = (z / 2 + generator.gumbel(size=z.shape)).argmax(1)
    test = generator.standard_normal((100, 3)) * 3
    bins = 7
    q = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    new = np.exp(test) / np.exp(test).sum(1, keepdims=True)
    raw = np.empty_like(new)
    for c in range(3):
        cuts = [b / bins for b in range(bins + 1)]
        if binning == "equal-mass":
            cuts = [float(np.quantile(q[:, c], cut)) for cut in cuts]
        for i, value in enumerate(new[:, c]):
            b = sum(value > cut for cut in cuts[1:-1])
            inside = [j for j in range(300) if sum(q[j, c] > cut for cut in cuts[1:-1]) == b]
            raw[i, c] = np.mean(labels[inside] == c) if inside else value
    expected = raw / raw.sum(1, keepdims=True)
    fitted = HistogramBinning.fit(z, labels, bins=bins, binning=binning)
    assert np.allclose(fitted.transform(test), expected, atol=1e-12)


def test_empty_bins_and_missing_classes_keep_what_was_there() -> None:
    z = np.log(np.array([[0.5, 0.45, 0.05], [0.45, 0.5, 0.05]]))
    fitted = HistogramBinning.fit(z, np.array([0, 1]), bins=10, binning="equal-width")
    far = np.log(np.array([[0.2, 0.1, 0.7]]))
    assert np.allclose(fitted.transform(far), [[0.2, 0.1, 0.7]])
    with pytest.raises(BadInput, match="0 bins"):
        HistogramBinning.fit(z, np.array([0, 1]), bins=0)
    with pytest.raises(BadInput, match="binning is 'equal'"):
        HistogramBinning.fit(z, np.array([0, 1]), binning="equal")
