"""Numbers that a recipe may give a calibrator: the least and the most that means something."""

import math
from collections.abc import Collection, Mapping

from mixcal.core.errors import BadInput


def within(
    method: str,
    knobs: Mapping[str, object],
    ranges: Mapping[str, tuple[float, float]],
    *,
    positive: Collection[str] = (),
) -> None:
    """Refuse the first number outside its range, or that is none; None is a knob not given.

    Those in `positive` must not be zero either.
    """
    for name, (least, most) in ranges.items():
        value = knobs.get(name)
        if not isinstance(value, int | float):
            continue
        if math.isfinite(value) and least <= value <= most and (value or name not in positive):
            continue
        if name in positive:
            wanted = "above 0" if math.isinf(most) else f"above 0 and at most {most:g}"
            raise BadInput(f"{method}: {name} is {value}; it must be {wanted}.")
        wanted = f"at least {least:g}" if math.isinf(most) else f"from {least:g} to {most:g}"
        raise BadInput(f"{method}: {name} is {value}; it must be {wanted}.")
