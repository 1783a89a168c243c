"""Numbers that a recipe may give: types that say which values mean something.

A range stands beside the knob it is for; whoever reads a recipe or calls a factory of the catalog
for one holds the values to it (`recipe_check.checked`).
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any


@dataclass(frozen=True, slots=True)
class Range:
    """From `least` to `most`; open where `above` or `below`. Never infinite, never NaN."""

    least: float = -math.inf
    most: float = math.inf
    above: bool = False
    below: bool = False

    def refusal(self, value: Any) -> str:
        """What the value must be, if it is not; else nothing."""
        low = value > self.least if self.above else value >= self.least
        high = value < self.most if self.below else value <= self.most
        if low and high and math.isfinite(value):
            return ""
        bounds = []
        if math.isfinite(self.least):
            bounds.append(f"{'above' if self.above else 'at least'} {self.least:g}")
        if math.isfinite(self.most):
            bounds.append(f"{'below' if self.below else 'at most'} {self.most:g}")
        return " and ".join(bounds) or "a finite number"


@dataclass(frozen=True, slots=True)
class Rising:
    """Numbers none of which is smaller than the one before."""

    def refusal(self, value: Any) -> str:
        """What the values must be, if they are not; else nothing."""
        return "" if sorted(value) == list(value) else "in rising order"


Limit = Range | Rising

# Whole numbers: at least one; or none, too.
Count = Annotated[int, Range(1)]
Amount = Annotated[int, Range(0)]
Number = Annotated[float, Range()]
# Weights, exponents, rates: 0 is "not at all".
Size = Annotated[float, Range(0)]
Positive = Annotated[float, Range(0, above=True)]
# Parts of a whole; a decay or a dropout of 1 would leave nothing.
Share = Annotated[float, Range(0, 1)]
PositiveShare = Annotated[float, Range(0, 1, above=True)]
ShareBelowOne = Annotated[float, Range(0, 1, below=True)]
InnerShare = Annotated[float, Range(0, 1, above=True, below=True)]
