"""Where in the run a step stands, and the random numbers it may draw."""

from dataclasses import dataclass

import torch

from mixcal.core.seeds import derive


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """One step's place in the run.

    The generator lives on the CPU and is seeded by (seed, step), so that a resumed run and a run on
    another device draw the same numbers: draw there, then move (`.to(device, non_blocking=True)`).
    """

    step: int
    steps: int
    epoch: int
    generator: torch.Generator

    @classmethod
    def at(cls, step: int, *, seed: int, steps: int, epoch_steps: int) -> "Clock":
        """The clock of one step of a run."""
        generator = torch.Generator().manual_seed(derive(seed, "method", step))
        return cls(step=step, steps=steps, epoch=step // epoch_steps, generator=generator)

    @property
    def fraction(self) -> float:
        """How much of the run has passed, in [0, 1)."""
        return self.step / max(self.steps, 1)
