"""Pairing by ids against samples that were shuffled, renamed and left out here."""

from dataclasses import replace

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.judging.comparison.pairing import paired, share_samples
from tests.support.contenders import contender
from tests.support.judged import made_predictions

WHOLE = made_predictions(40, classes=3)
SHUFFLED = np.random.default_rng(3).permutation(40)


def test_samples_are_put_into_the_order_of_the_baseline() -> None:
    first, second = contender("a", WHOLE), contender("b", WHOLE.take(SHUFFLED))
    found = paired([first, second], first)
    assert found[0] is first
    np.testing.assert_array_equal(found[1].judged.predictions.scores, WHOLE.scores)
    np.testing.assert_array_equal(found[1].judged.predictions.ids, WHOLE.ids)
    # Where each sample stands in the file that was read.
    np.testing.assert_array_equal(SHUFFLED[found[1].order], np.arange(40))


def test_the_baseline_need_not_be_the_first() -> None:
    first, second = contender("a", WHOLE), contender("b", WHOLE.take(SHUFFLED))
    found = paired([first, second], second)
    np.testing.assert_array_equal(found[0].judged.predictions.ids, WHOLE.ids[SHUFFLED])


def test_classes_may_stand_in_another_order() -> None:
    turned = replace(
        WHOLE,
        scores=WHOLE.scores[:, ::-1].copy(),
        labels=2 - WHOLE.labels,
        classes=WHOLE.classes[::-1],
    )
    assert share_samples([contender("a", WHOLE), contender("b", turned)])


def test_classes_without_names_stand_for_the_named_ones() -> None:
    unnamed = replace(WHOLE, classes=("0", "1", "2"))
    assert share_samples([contender("a", WHOLE), contender("b", unnamed)])
    assert share_samples([contender("b", unnamed), contender("a", WHOLE)])


def test_numbers_and_texts_are_the_same_ids() -> None:
    numbers = replace(WHOLE, ids=np.arange(40))
    texts = replace(WHOLE, ids=np.arange(40).astype(str))
    assert share_samples([contender("a", numbers), contender("b", texts)])


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            WHOLE.take(np.arange(30)),
            "b and a are on different samples: 10 of the 40 of a are not in b (the first: "
            "'image-00030'); predict the same samples with both, under the same ids.",
        ),
        (
            replace(WHOLE, ids=np.append(WHOLE.ids[:39], "x")),
            "1 of the 40 of b are not in a (the first: 'x') and 1 of the 40 of a are not in b "
            "(the first: 'image-00039')",
        ),
        (
            replace(WHOLE, ids=np.append(WHOLE.ids[:39], WHOLE.ids[0])),
            "b: the id 'image-00000' occurs more than once",
        ),
        (
            replace(WHOLE, labels=(WHOLE.labels + (np.arange(40) == 7)) % 3),
            "sample 'image-00007' is labeled",
        ),
        (
            replace(WHOLE, classes=("class 0", "class 1", "fox")),
            "'fox' is a class of b but not of a, and 'class 2' the other way round",
        ),
        (made_predictions(40, classes=4), "b has 4 classes and a 3"),
        (replace(WHOLE, split="validation"), "b holds validation predictions and a test ones"),
    ],
)
def test_what_cannot_be_paired_is_said_in_one_sentence(other, message: str) -> None:
    contenders = [contender("a", WHOLE), contender("b", other)]
    assert not share_samples(contenders)
    with pytest.raises(BadInput) as caught:
        paired(contenders, contenders[0])
    assert message in str(caught.value)
    assert str(caught.value).count(". ") == 0
