"""ProCal by bins against a rescaler fitted by hand on each part."""

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.judging.metrics.proximity import proximity
from mixcal.judging.rescaling.procal_bins import BY, ProCalBins
from tests.judging.rescaling.test_procal import crowded


@pytest.mark.parametrize("by", BY)
def test_each_part_by_hand(by: str) -> None:
    z, labels, features, _ = crowded(300, 0)
    test, _, others, _ = crowded(100, 1)
    fitted = ProCalBins.fit(z, labels, features=features, by=by, proximity_bins=3)
    near = proximity(features, features, same=True)
    low, high = np.quantile(near, [1 / 3, 2 / 3])
    at = proximity(others, features)
    expected = np.empty_like(test)
    for held, new in (
        (near < low, at < low),
        ((near >= low) & (near < high), (at >= low) & (at < high)),
        (near >= high, at >= high),
    ):
        expected[new] = BY[by].fit(z[held], labels[held]).transform(test[new])
    assert np.allclose(fitted.transform(test, features=others), expected, atol=1e-12)


def test_small_parts_use_all_samples() -> None:
    z, labels, features, _ = crowded(60, 2)
    fitted = ProCalBins.fit(z, labels, features=features, least=50)
    whole = BY["top-isotonic"].fit(z, labels)
    assert np.array_equal(fitted.transform(z, features=features), whole.transform(z))
    for wrong, message in (({"by": "platt"}, "by is 'platt'"), ({"proximity_bins": 0}, "0 prox")):
        with pytest.raises(BadInput, match=message):
            ProCalBins.fit(z, labels, features=features, **wrong)
