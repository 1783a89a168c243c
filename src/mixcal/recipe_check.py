"""Checking recipes: plain tables to typed records, with errors that name the nearest known key."""

import dataclasses
import difflib
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from mixcal.core.errors import BadInput
from mixcal.core.quantities import Limit

T = TypeVar("T")


class OutOfRange(BadInput):
    """A value of the right kind that means nothing."""


def built(kind: type[T], record: Mapping[str, Any], *, where: str, path: str = "") -> T:
    """An instance of a dataclass from a table; unknown keys and wrong types are errors."""
    hints = get_type_hints(kind, include_extras=True)
    names = [field.name for field in dataclasses.fields(kind) if field.init]  # type: ignore[arg-type]
    if "knobs" in names:
        return _named(kind, record, where=where, path=path)
    for key in record:
        if key not in names:
            raise unknown_key(f"{path}{key}", names, where=where)
    values = {
        key: checked(hints[key], value, where=where, path=f"{path}{key}")
        for key, value in record.items()
    }
    return kind(**values)


def unknown_key(key: str, known: Sequence[str], *, where: str) -> BadInput:
    """The error for a key nobody knows."""
    near = difflib.get_close_matches(key.rsplit(".", 1)[-1], known, n=1, cutoff=0.5)
    remedy = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}."
    return BadInput(f"{where}: unknown key {key!r}; {remedy}")


def _named(kind: type[T], record: Mapping[str, Any], *, where: str, path: str) -> T:
    """Something from the catalog: `name`, and everything else is a knob of it."""
    if isinstance(record, Mapping) and set(record) == {"name", "knobs"}:
        record = {"name": record["name"], **record["knobs"]}
    if not isinstance(record, Mapping) or not isinstance(record.get("name"), str):
        raise BadInput(
            f'{where}: {path.rstrip(".")} must be a table with a name, like {{ name = "…" }}.'
        )
    knobs = {key: value for key, value in record.items() if key != "name"}
    return kind(name=record["name"], knobs=knobs)  # type: ignore[call-arg]


def checked(hint: Any, value: Any, *, where: str, path: str) -> Any:
    """The value as the annotation wants it."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _limited(get_args(hint), value, where=where, path=path)
    if origin in (Union, types.UnionType):
        return _one_of(get_args(hint), value, where=where, path=path)
    if origin is Literal:
        if value not in get_args(hint):
            raise _wrong(path, value, " | ".join(map(repr, get_args(hint))), where=where)
        return value
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, Mapping):
            raise _wrong(path, value, "a table", where=where)
        return built(hint, value, where=where, path=f"{path}.")
    if origin in (dict, Mapping):
        if not isinstance(value, Mapping):
            raise _wrong(path, value, "a table", where=where)
        inner = get_args(hint)[1]
        return {
            key: checked(inner, entry, where=where, path=f"{path}.{key}")
            for key, entry in value.items()
        }
    if origin in (tuple, list, Sequence):
        return _items(hint, value, where=where, path=path)
    return _plain(hint, value, where=where, path=path)


def _limited(hint: tuple[Any, ...], value: Any, *, where: str, path: str) -> Any:
    """A value of a type with limits beside it."""
    kind, *limits = hint
    found = checked(kind, value, where=where, path=path)
    for limit in limits:
        if isinstance(limit, Limit) and (wanted := limit.refusal(found)):
            raise OutOfRange(str(_wrong(path, found, wanted, where=where)))
    return found


def _one_of(options: tuple[Any, ...], value: Any, *, where: str, path: str) -> Any:
    # "none" stands for a missing value: TOML has no null, and --set must be able to say it.
    if type(None) in options and value in (None, "none"):
        return None
    kinds = [option for option in options if option is not type(None)]
    for option in kinds[:-1]:
        try:
            return checked(option, value, where=where, path=path)
        except OutOfRange:
            raise
        except BadInput:
            continue
    return checked(kinds[-1], value, where=where, path=path)


def _items(hint: Any, value: Any, *, where: str, path: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise _wrong(path, value, "a list", where=where)
    inner = get_args(hint)
    if len(inner) == 2 and inner[1] is not Ellipsis and len(value) != 2:
        raise _wrong(path, value, "a list of two", where=where)
    kinds = inner if len(inner) == 2 and inner[1] is not Ellipsis else [inner[0]] * len(value)
    return tuple(
        checked(kind, entry, where=where, path=f"{path}[{place}]")
        for place, (kind, entry) in enumerate(zip(kinds, value, strict=True))
    )


def _plain(hint: Any, value: Any, *, where: str, path: str) -> Any:
    if hint is Any:
        return value
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint is bool or isinstance(value, bool):
        if hint is bool and isinstance(value, bool):
            return value
    elif isinstance(value, hint):
        return value
    names = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
    raise _wrong(path, value, names.get(hint, str(hint)), where=where)


def _wrong(path: str, value: Any, wanted: str, *, where: str) -> BadInput:
    return BadInput(f"{where}: {path} is {value!r}; it must be {wanted}.")
