"""Numbers that a recipe may give a calibrator: the least and the most that means something."""

import math
from collections.abc import Mapping

from mixcal.core.errors import BadInput


def within(
    method: str, knobs: Mapping[str, object], ranges: Mapping[str, tuple[float, float]]
) -> None:
    """Refuse the first number outside its range, or that is none; None is a knob not given."""
    for name, (least, most) in ranges.items():
        value = knobs.get(name)
        if not isinstance(value, int | float):
            continue
        if math.isfinite(value) and least <= value <= most:
            continue
        wanted = f"at least {least:g}" if math.isinf(most) else f"from {least:g} to {most:g}"
        raise BadInput(f"{method}: {name} is {value}; it must be {wanted}.")
