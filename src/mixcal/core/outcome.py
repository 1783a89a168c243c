"""What a step costs, by name, and what it shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Outcome:
    """Named losses, already weighted, and named readings, detached; both are scalars.

    Outcomes add. The same name on both sides is an error: a loss must not vanish behind another.
    """

    losses: Mapping[str, Float[Tensor, ""]] = field(default_factory=dict)
    readings: Mapping[str, Float[Tensor, ""]] = field(default_factory=dict)

    def __add__(self, other: "Outcome") -> "Outcome":
        for ours, theirs in ((self.losses, other.losses), (self.readings, other.readings)):
            if twice := set(ours) & set(theirs):
                raise ValueError(f"two losses or readings are named {', '.join(sorted(twice))}")
        return Outcome({**self.losses, **other.losses}, {**self.readings, **other.readings})

    def total(self) -> Float[Tensor, ""]:
        """The sum of the losses: the only place where they are summed."""
        return torch.stack(tuple(self.losses.values())).sum()
