"""Named options of a loss: a misspelt one is an error, never another formula."""

from typing import Any, get_args

from mixcal.core.errors import BadInput


def known(value: str, choices: Any, *, option: str) -> None:
    """Refuse what is none of the choices of a `Literal`."""
    if value not in get_args(choices):
        names = ", ".join(f'"{name}"' for name in get_args(choices))
        raise BadInput(f"{option} is {value!r}; it must be one of {names}.")
