"""Words and their numbers against sentences cut by hand."""

import numpy as np
import pytest

from mixcal.core.errors import BadInput
from mixcal.data.text import PADDING, Texts, library, words_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What's a caliper?", ["what", "'s", "a", "caliper", "?"]),
        ("don't they'll we've", ["do", "n't", "they", "'ll", "we", "'ve"]),
        ("good(ish), bad!", ["good", "(", "ish", ")", ",", "bad", "!"]),
        ("jean-claud  van\tdamme & co.", ["jean", "claud", "van", "damme", "co"]),
        ("caf\xe9 `quoted'", ["caf", "`quoted'"]),
        ("...", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words_of(text) == expected


def part(*texts: str) -> Texts:
    return Texts(texts=texts, labels=np.zeros(len(texts), np.int64), names=list(texts))


def test_numbers_and_padding() -> None:
    found = library({"train": part("b a", "c b a"), "test": part("a d c b", "")})
    assert found.words == ("", "a", "b", "c", "d")
    assert found.pools["train"].raw.tolist() == [[2, 1, PADDING], [3, 2, 1]]
    # As long as the longest training text, and every word of the test part is known.
    assert found.pools["test"].raw.tolist() == [[1, 4, 3], [PADDING] * 3]


def test_the_vocabulary_does_not_depend_on_the_order_of_texts() -> None:
    one = library({"train": part("b a", "c")}).words
    assert one == library({"train": part("c", "b a")}).words


def test_longest() -> None:
    assert library({"train": part("a b c d")}, longest=2).pools["train"].raw.shape == (1, 2)


def test_no_words_is_an_error() -> None:
    with pytest.raises(BadInput, match="word"):
        library({"train": part("...")})
