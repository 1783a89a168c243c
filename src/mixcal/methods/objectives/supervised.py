"""Supervised training: labeled rows, perhaps mixed, and whatever terms are added."""

import torch
from torch import nn

from mixcal.core.clock import Clock
from mixcal.core.errors import BadInput
from mixcal.core.outcome import Outcome
from mixcal.core.predictions import Predictions
from mixcal.core.protocols import Calibrator
from mixcal.core.rows import Batch
from mixcal.core.step import Passes, StepOutput
from mixcal.methods.objectives.losses import (
    labeled_loss,
    labeled_readings,
    mixed_loss,
    mixed_readings,
    named,
)
from mixcal.methods.objectives.mixing import mixed_early, mixed_late, rows_beside
from mixcal.methods.objectives.registration import modules_of

# What of a mixer's options only semi-supervised training has.
KNOBS = {
    "again": 'passes = "twice" (as in preset "official")',
    "with_strong": 'mixed_branch = "with_strong"',
}


class Supervised(nn.Module):
    """One pass over the labeled rows, or over the mixed rows in their place; see `forward`."""

    def __init__(
        self,
        calibrator: Calibrator,
        *,
        autocast: torch.dtype | None = None,
        averaged: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.calibrator = calibrator
        self.autocast = autocast
        # In a tuple: it is not this module's to save.
        self.averaged = (averaged,) if calibrator.reads_average else (None,)
        self.memory = modules_of(calibrator)
        if calibrator.mixer is not None and calibrator.mixer.joins in KNOBS:
            knob = KNOBS[calibrator.mixer.joins]
            raise BadInput(f"{knob} needs unlabeled rows; set method.algorithm, or leave it out.")

    def forward(self, network: nn.Module, batch: Batch, clock: Clock) -> Outcome:
        step = StepOutput(
            batch=batch, forward=Passes(network, autocast=self.autocast, averaged=self.averaged[0])
        )
        step = mixed_early(step, self.calibrator.mixer, clock)
        step = self._main_pass(step)
        step = mixed_late(step, self.calibrator.mixer, clock)
        criteria = self.calibrator.criteria_at(clock)
        outcome = named(
            {"labeled": labeled_loss(step, criteria), "mixed": mixed_loss(step, criteria)}
        )
        for term in self.calibrator.terms.values():
            outcome += term(step, clock)
        return outcome + labeled_readings(step) + mixed_readings(step)

    def _main_pass(self, step: StepOutput) -> StepOutput:
        rows = [step.batch.labeled, *rows_beside(step, self.calibrator)]
        if step.mixed is None:
            return step.run(*rows)
        if self.calibrator.mixer is not None and self.calibrator.mixer.joins == "instead":
            rows[0] = step.mixed.rows
        else:
            rows.append(step.mixed.rows)
        return step.run(*rows, between=step.mixed.between)

    def review(self, predictions: Predictions, clock: Clock) -> None:
        """Show the validation predictions to the calibrators that want them."""
        for review in self.calibrator.reviews:
            review(predictions, clock)
