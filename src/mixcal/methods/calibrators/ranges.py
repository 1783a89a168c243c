"""Numbers that a recipe may give a calibrator: the least and the most that means something."""

import math
from collections.abc import Mapping

from mixcal.core.errors import BadInput

NOT_NEGATIVE = (0.0, math.inf)
# From the smallest number there is above zero.
POSITIVE = (math.ulp(0.0), math.inf)
AT_LEAST_ONE = (1.0, math.inf)
SHARE = (0.0, 1.0)


def within(
    method: str, knobs: Mapping[str, object], ranges: Mapping[str, tuple[float, float]]
) -> None:
    """Refuse the first number outside its range, or that is none; None is a knob not given.

    Of a knob with several numbers each is looked at, and there must be one.
    """
    for name, (least, most) in ranges.items():
        value = knobs.get(name)
        numbers = value if isinstance(value, list | tuple) else (value,)
        if not numbers:
            raise BadInput(f"{method}: {name} is empty; give at least one number.")
        for number in numbers:
            if not isinstance(number, int | float):
                continue
            if not (math.isfinite(number) and least <= number <= most):
                raise BadInput(f"{method}: {name} is {value}; it must be {_wanted(least, most)}.")


def _wanted(least: float, most: float) -> str:
    if math.isinf(least):
        return f"at most {most:g}"
    bound = "above 0" if least == POSITIVE[0] else f"at least {least:g}"
    if math.isinf(most):
        return bound
    return f"from {least:g} to {most:g}" if bound != "above 0" else f"above 0, at most {most:g}"
