"""What recipes say under their keys against recipes written out here."""

import pytest

from mixcal.core.errors import BadInput
from mixcal.judging.comparison.recipe_keys import check_key, differing, told, within

PLAIN = {
    "method": {
        "seed": 1,
        "algorithm": {"name": "fixmatch", "threshold": 0.95},
        "calibrators": [],
        "views": {"area": [0.5, 1.0]},
    },
    "running": {"strict": False},
}
MIXED = {
    "method": {
        "seed": 2,
        "algorithm": {"name": "softmatch"},
        "calibrators": [{"name": "calibratemix", "share": 0.1}, {"name": "label-smoothing"}],
        "views": {"area": [0.5, 1.0]},
    },
    "running": {"strict": True},
}


@pytest.mark.parametrize(
    ("key", "plain", "mixed"),
    [
        ("method.seed", "1", "2"),
        ("method.algorithm", "fixmatch(threshold=0.95)", "softmatch"),
        ("method.algorithm.name", "fixmatch", "softmatch"),
        ("method.algorithm.threshold", "0.95", "none"),
        ("method.calibrators", "none", "calibratemix(share=0.1) + label-smoothing"),
        ("method.calibrators.calibratemix.share", "none", "0.1"),
        ("method.views.area", "0.5, 1.0", "0.5, 1.0"),
        ("running.strict", "false", "true"),
        ("method.seed.nothing", "none", "none"),
    ],
)
def test_what_stands_under_a_key(key: str, plain: str, mixed: str) -> None:
    assert (told(PLAIN, key), told(MIXED, key)) == (plain, mixed)


def test_differing_keys_are_those_of_the_method_only() -> None:
    assert differing([PLAIN, MIXED]) == {
        "method.seed": ["1", "2"],
        "method.algorithm.name": ["fixmatch", "softmatch"],
        "method.algorithm.threshold": ["0.95", "none"],
        "method.calibrators": ["none", "calibratemix(share=0.1) + label-smoothing"],
        "method.calibrators.calibratemix.share": ["none", "0.1"],
    }
    assert differing([PLAIN, PLAIN]) == {}
    assert differing([PLAIN, {}])["method.seed"] == ["1", "none"]


def test_within_means_below_or_the_same() -> None:
    assert within("method.seed", ["method.seed"])
    assert within("method.algorithm.name", ["method.seed", "method.algorithm"])
    assert not within("method.seeds", ["method.seed"])


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("algorithm.name", "did you mean 'method.algorithm.name'?"),
        ("method.algoritm.name", "did you mean 'method.algorithm.name'?"),
        ("colour", "name one, such as"),
    ],
)
def test_a_key_that_nobody_has(key: str, remedy: str) -> None:
    check_key([PLAIN, MIXED], "method.calibrators.calibratemix.share", option="--group-by")
    with pytest.raises(BadInput) as caught:
        check_key([PLAIN, MIXED], key, option="--group-by")
    assert str(caught.value).startswith(f"--group-by {key}: no run has this key")
    assert remedy in str(caught.value)
