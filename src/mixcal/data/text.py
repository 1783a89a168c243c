"""Texts as pools of word numbers.

A text becomes lower-case words, as Kim (EMNLP 2014; arXiv:1408.5882v2) cuts them: letters, digits
and ( ) , ! ? ' ` stay, everything else separates; punctuation and the endings 's 've n't 're 'd 'll
are words of their own. Word 0 is no word: it fills short texts up at their end. The vocabulary
holds the words of all parts of a data set, so that a file of word vectors serves those too that
only the test part has; without such a file they keep the vectors they began with.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int

from mixcal.core.errors import BadInput
from mixcal.data.pool import MemoryPool

PADDING = 0
FOREIGN = re.compile(r"[^a-z0-9(),!?'`]")
MARKS = re.compile(r"([(),!?])")
ENDINGS = re.compile(r"(?=n't|'(?:s|ve|re|d|ll))")


def words_of(text: str) -> list[str]:
    """The words of a text."""
    known = FOREIGN.sub(" ", text.lower())
    return MARKS.sub(r" \1 ", ENDINGS.sub(" ", known)).split()


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """Texts with the numbers of their classes, and a name for each."""

    texts: Sequence[str]
    labels: Int[np.ndarray, " n"]
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class Library:
    """Pools of word numbers by part, and the words: number i is `words[i]`."""

    pools: Mapping[str, MemoryPool]
    words: tuple[str, ...]


def library(parts: Mapping[str, Texts], *, longest: int = 0) -> Library:
    """The parts as pools. A text is as long as the longest of "train", or as `longest` if that is
    less; what goes beyond is cut off."""
    cut = {name: [words_of(text) for text in part.texts] for name, part in parts.items()}
    width = max((len(words) for words in cut["train"]), default=0)
    width = min(width, longest) if longest else width
    if not width:
        raise BadInput("None of the training texts has a word; check the files.")
    words = ("", *vocabulary(text for texts in cut.values() for text in texts))
    number = {word: place for place, word in enumerate(words)}
    pools = {
        name: MemoryPool(
            torch.from_numpy(numbered_words(cut[name], number, width)),
            part.labels,
            np.array(part.names, dtype=str),
        )
        for name, part in parts.items()
    }
    return Library(pools, words)


def vocabulary(texts: Iterable[Sequence[str]]) -> list[str]:
    """Every word once, in the order of the alphabet: it depends on no order of texts."""
    return sorted({word for text in texts for word in text})


def numbered_words(
    texts: Sequence[Sequence[str]], number: Mapping[str, int], width: int
) -> Int[np.ndarray, "n t"]:
    """Word numbers, `width` of them a text."""
    found = np.full((len(texts), width), PADDING, dtype=np.int32)
    for row, text in enumerate(texts):
        found[row, : len(text)] = [number[word] for word in text[:width]]
    return found
