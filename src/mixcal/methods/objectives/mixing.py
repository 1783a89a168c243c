"""When mixed rows are made, before the main pass or after it, and which others share it."""

from dataclasses import replace

from mixcal.core.clock import Clock
from mixcal.core.protocols import Calibrator, Mixer
from mixcal.core.rows import Rows
from mixcal.core.step import StepOutput


def mixed_early(step: StepOutput, mixer: Mixer | None, clock: Clock) -> StepOutput:
    """The step with the rows that go into the main pass, in place of or beside the labeled ones."""
    if mixer is None or mixer.joins not in ("instead", "beside", "with_strong"):
        return step
    return replace(step, mixed=mixer(step, clock))


def mixed_late(step: StepOutput, mixer: Mixer | None, clock: Clock) -> StepOutput:
    """The step after a pass of their own for the rows that need the step's logits to be made."""
    if mixer is None or mixer.joins != "after":
        return step
    step = replace(step, mixed=mixer(step, clock))
    if step.mixed is None:
        return step
    return step.run(step.mixed.rows, between=step.mixed.between)


def rows_beside(step: StepOutput, calibrator: Calibrator) -> list[Rows]:
    """Rows of other streams that go through the network with the labeled ones."""
    return [step.batch.extra[name] for name in sorted(calibrator.beside)]
