"""Class names of sets made from WordNet: the first word of a synset, and its number.

Words alone would not do: "crane" is a bird and a machine.
"""

from collections.abc import Sequence


def named(synsets: Sequence[str], words: dict[str, str]) -> tuple[str, ...]:
    """ "tench (n01440764)", or the number alone where no words are known."""
    return tuple(
        f"{words[synset].partition(',')[0].strip()} ({synset})" if words.get(synset) else synset
        for synset in synsets
    )


def words_in(text: str) -> dict[str, str]:
    """Synset to words, from lines of a number, blank or tab, and words."""
    found = {}
    for line in text.splitlines():
        parts = line.split(maxsplit=1)
        if len(parts) == 2:
            found[parts[0]] = parts[1]
    return found
