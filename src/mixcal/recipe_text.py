"""Recipes as TOML text; the standard library reads TOML but does not write it."""

import json
from collections.abc import Mapping
from typing import Any


def written(record: Mapping[str, Any]) -> str:
    """The tables of a recipe, one level as TOML tables, deeper ones inline. None is left out."""
    lines = []
    for name, table in record.items():
        lines.append(f"[{name}]")
        lines += [f"{key} = {_value(value)}" for key, value in table.items() if value is not None]
        lines.append("")
    return "\n".join(lines)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        # A named entry's knobs stand beside its name.
        if set(value) == {"name", "knobs"}:
            value = {"name": value["name"], **value["knobs"]}
        inner = (f"{key} = {_value(v)}" for key, v in value.items() if v is not None)
        return "{ " + ", ".join(inner) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(entry) for entry in value) + "]"
    return repr(value)
