"""Learning rates as pure functions of the step: nothing to save, nothing to resume."""

import math

from mixcal.core.errors import BadInput
from mixcal.training.options import ScheduleOptions


def learning_rate(
    options: ScheduleOptions, peak: float, step: int, *, steps: int, epoch_steps: int
) -> float:
    """The rate of one step; `step` counts the steps done before it."""
    warmup = options.warmup_steps or round(options.warmup_epochs * epoch_steps)
    if step < warmup:
        return peak * (step + 1) / warmup
    match options.name:
        case "constant":
            return peak
        case "cosine":
            share = (step - warmup) / max(steps - warmup, 1)
            return peak * max(0.0, math.cos(options.cycles * math.pi * share))
        case "cosine-to-zero":
            share = (step - warmup) / max(steps - warmup, 1)
            return peak * (1 + math.cos(math.pi * share)) / 2
        case "multistep":
            return peak * _factor(options, step // epoch_steps)


def _factor(options: ScheduleOptions, epoch: int) -> float:
    """The product of the factors of all milestones reached."""
    factors = options.factors or (options.factor,) * len(options.milestones_epochs)
    if len(factors) != len(options.milestones_epochs):
        raise BadInput(
            f"method.schedule has {len(options.milestones_epochs)} milestones and {len(factors)} "
            "factors; give one factor for each."
        )
    reached = [f for f, at in zip(factors, options.milestones_epochs, strict=True) if epoch >= at]
    return math.prod(reached, start=1.0)
