"""A fitted rescaler as a JSON file: its name and its numbers, arrays as base64 of their bytes."""

import base64
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Shaped

from mixcal.core.errors import BadInput
from mixcal.judging.rescaling.registry import RESCALERS, Rescaler, name_of

# Arrays up to this size are written as lists, for people to read.
READABLE = 1024
# Only numbers may come out of a file.
KINDS = "biuf"


def save_rescaler(rescaler: Rescaler, path: Path) -> None:
    """Write it; `load_rescaler` gives back the same bits."""
    Path(path).write_text(json.dumps(_record(rescaler), indent=1) + "\n")


def load_rescaler(path: Path) -> Rescaler:
    """Read what `save_rescaler` wrote."""
    try:
        return _rescaler(json.loads(Path(path).read_text()))
    except FileNotFoundError:
        raise BadInput(f"{path} does not exist; give the path of a saved rescaler.") from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadInput(
            f"{path} is no rescaler that mixcal saved ({type(error).__name__}: {error}); "
            "fit it anew with `mixcal rescale`."
        ) from None


def _record(rescaler: Rescaler) -> dict[str, Any]:
    record: dict[str, Any] = {"rescaler": name_of(rescaler)}
    for field in dataclasses.fields(rescaler):  # type: ignore[arg-type]  # all of them are
        value = getattr(rescaler, field.name)
        if isinstance(value, tuple):
            record[field.name] = [_record(part) for part in value]
        else:
            record[field.name] = _packed(value) if isinstance(value, np.ndarray) else value
    return record


def _rescaler(record: dict[str, Any]) -> Rescaler:
    values = dict(record)
    kind = RESCALERS[values.pop("rescaler")]
    for name, value in values.items():
        if isinstance(value, list):
            values[name] = tuple(_rescaler(part) for part in value)
        elif isinstance(value, dict):
            values[name] = _unpacked(value)
    return kind(**values)


def _packed(array: Shaped[np.ndarray, "..."]) -> dict[str, Any]:
    plain = array.astype(array.dtype.newbyteorder("<"), copy=False)
    record: dict[str, Any] = {"dtype": plain.dtype.str, "shape": list(plain.shape)}
    if plain.size <= READABLE and np.isfinite(plain).all():
        return record | {"values": plain.ravel().tolist()}
    return record | {"base64": base64.b64encode(np.ascontiguousarray(plain).tobytes()).decode()}


def _unpacked(record: dict[str, Any]) -> Shaped[np.ndarray, "..."]:
    dtype = np.dtype(record["dtype"])
    if dtype.kind not in KINDS:
        raise ValueError(f"arrays of {dtype} are not accepted")
    if "values" in record:
        flat = np.array(record["values"], dtype=dtype)
    else:
        flat = np.frombuffer(base64.b64decode(record["base64"], validate=True), dtype=dtype)
    return flat.reshape(record["shape"]).copy()
