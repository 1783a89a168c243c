"""Keys of recipes as text: what a run says under a key, and where runs differ.

A key is written with dots, `method.algorithm.name`; an entry of a list of named tables is reached
by its name, `method.calibrators.calibratemix.share`.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mixcal.core.errors import BadInput

Recipe = Mapping[str, Any]
# What a run says that says nothing: an empty list, or a key it does not have.
NOTHING = "none"


def told(recipe: Recipe, key: str) -> str:
    """What stands under a key, in a few words."""
    found: Any = recipe
    for part in key.split("."):
        if isinstance(found, list):
            found = {entry["name"]: entry for entry in found if isinstance(entry, Mapping)}
        if not isinstance(found, Mapping) or part not in found:
            return NOTHING
        found = found[part]
    return _words(found)


def is_key(recipe: Recipe, key: str) -> bool:
    """Whether the recipe has something under this key, a value or a table."""
    return key in known_keys([recipe])


def differing(recipes: Sequence[Recipe]) -> dict[str, list[str]]:
    """The keys of `[method]` that are not the same in all, and what each recipe says."""
    keys: dict[str, None] = {}
    for recipe in recipes:
        keys |= dict.fromkeys(_leaves({"method": recipe.get("method", {})}))
    found = {key: [told(recipe, key) for recipe in recipes] for key in keys}
    return {key: values for key, values in found.items() if len(set(values)) > 1}


def within(key: str, parents: Sequence[str]) -> bool:
    """Whether a key is one of these or stands below one."""
    return any(key == parent or key.startswith(f"{parent}.") for parent in parents)


def check_key(recipes: Sequence[Recipe], key: str, *, option: str) -> None:
    """Refuse a key that no recipe has."""
    if any(is_key(recipe, key) for recipe in recipes):
        return
    keys = known_keys(recipes)
    close = [k for k in keys if k.endswith(f".{key}")][:1]
    close = close or difflib.get_close_matches(key, keys, n=1, cutoff=0.75)
    remedy = f"did you mean {close[0]!r}?" if close else "name one, such as method.algorithm.name."
    raise BadInput(f"{option} {key}: no run has this key in its recipe; {remedy}")


def known_keys(recipes: Sequence[Recipe]) -> list[str]:
    """Every key of these recipes, tables included."""
    found: dict[str, None] = {}
    for recipe in recipes:
        for leaf in _leaves(recipe):
            parts = leaf.split(".")
            found |= dict.fromkeys(".".join(parts[: i + 1]) for i in range(len(parts)))
    return list(found)


def _leaves(table: Recipe, prefix: str = "") -> Iterator[str]:
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{key}.")
        elif isinstance(value, list) and value and all(isinstance(e, Mapping) for e in value):
            yield key
            for entry in value:
                knobs = {knob: entry[knob] for knob in entry if knob != "name"}
                yield from _leaves(knobs, f"{key}.{entry.get('name')}.")
        else:
            yield key


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        knobs = ", ".join(f"{k}={_words(v)}" for k, v in value.items() if k != "name")
        name = str(value.get("name", ""))
        return f"{name}({knobs})" if knobs else name
    if isinstance(value, list):
        named = value and all(isinstance(entry, Mapping) for entry in value)
        return (" + " if named else ", ").join(map(_words, value)) or NOTHING
    return str(value)
