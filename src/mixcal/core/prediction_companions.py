"""What may stand beside the scores of predictions, and which shape it must have."""

import json
from collections.abc import Mapping

import numpy as np

from mixcal.core.errors import BadInput


def check_companions(
    arrays: Mapping[str, np.ndarray], scores: np.ndarray | None, *, where: str
) -> None:
    """Refuse arrays that do not belong to the samples and classes of the scores."""
    if scores is None or scores.ndim != 2:
        return
    n, k = scores.shape
    fitting: Mapping[str, tuple[int | None, ...]] = {
        "ids": (n,),
        "features": (n, None),
        "members": (None, n, k),
        "label_distributions": (n, k),
        "class_counts": (k,),
    }
    for name in fitting.keys() & arrays.keys():
        shape = arrays[name].shape
        if not _fits(shape, fitting[name]):
            raise BadInput(
                f"{where}: {name} of shape {shape} do not fit {n} samples of {k} classes; "
                "match them or leave them out."
            )


def notes_in(text: str, *, where: str) -> dict[str, str]:
    """The notes of a prediction file, which are an object in JSON."""
    try:
        notes = json.loads(text)
    except ValueError:
        notes = None
    if not isinstance(notes, dict):
        raise BadInput(f"{where}: `notes` are no object in JSON; mend them or leave them out.")
    return notes


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(
        want in (None, size) for want, size in zip(wanted, shape, strict=True)
    )
