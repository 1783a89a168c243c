"""Types checked at run time in the tests; `Self` is left to mypy, which knows the class."""

from typing import Any, Self

from beartype import BeartypeConf, FrozenDict, beartype

# As everywhere in Python, a whole number will do where a float is asked for.
checked = beartype(conf=BeartypeConf(hint_overrides=FrozenDict({Self: Any}), is_pep484_tower=True))
