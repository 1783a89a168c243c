"""Semi-supervised training: labeled rows, and unlabeled ones seen weakly and strongly.

    L = L_labeled + λ_u L_unlabeled (+ L_mixed + terms)

Which images share a batch-norm batch is part of the method:

- `weak_branch = "joint"`: labeled, strong and weak rows in one pass, as usually coded;
- `weak_branch = "separate"`: the weak rows first, in a pass of their own without gradient, then
  labeled and strong rows together. Cheaper by a third, and another batch-norm batch.

Every training-mode pass updates the running statistics.
"""

from dataclasses import replace
from typing import Literal

import torch
from torch import nn

from mixcal.core.activations import Between
from mixcal.core.clock import Clock
from mixcal.core.errors import BadInput
from mixcal.core.outcome import Outcome
from mixcal.core.predictions import Predictions
from mixcal.core.protocols import Algorithm, Calibrator
from mixcal.core.rows import Batch, Rows, Views
from mixcal.core.step import Passes, Pseudo, StepOutput
from mixcal.methods.objectives.losses import (
    labeled_loss,
    labeled_readings,
    mixed_loss,
    mixed_readings,
    named,
    pseudo_readings,
    unlabeled_loss,
)
from mixcal.methods.objectives.mixing import mixed_early, mixed_late, rows_beside
from mixcal.methods.objectives.registration import modules_of

WeakBranch = Literal["joint", "separate"]


class SemiSupervised(nn.Module):
    """FixMatch's family; `forward` is the whole step."""

    def __init__(
        self,
        algorithm: Algorithm,
        calibrator: Calibrator,
        *,
        weak_branch: WeakBranch = "joint",
        autocast: torch.dtype | None = None,
        averaged: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.algorithm = algorithm
        self.calibrator = calibrator
        self.weak_branch = weak_branch
        self.autocast = autocast
        # In a tuple: it is not this module's to save.
        self.averaged = (averaged,) if calibrator.reads_average else (None,)
        self.memory = modules_of(calibrator)
        if isinstance(algorithm.weigh, nn.Module):
            self.memory["weigh"] = algorithm.weigh
        joins = None if calibrator.mixer is None else calibrator.mixer.joins
        if weak_branch == "joint" and joins == "with_strong":
            raise BadInput(
                'mixed_branch = "with_strong" needs method.weak_branch = "separate": before '
                "a pass for all rows nothing is known that could be mixed."
            )
        if weak_branch == "separate" and joins == "again":
            raise BadInput(
                'passes = "twice" (as in preset "official") needs method.weak_branch = "joint": it '
                "runs one pass over all rows, twice."
            )
        if algorithm.follow_labeled is not None and joins == "instead":
            raise BadInput(
                "This algorithm follows the predictions on labeled rows, and a mixer puts mixed "
                'ones in their place; drop the mixer, or take target = "uniform".'
            )

    def forward(self, network: nn.Module, batch: Batch, clock: Clock) -> Outcome:
        if batch.unlabeled is None:
            raise BadInput("A semi-supervised algorithm needs unlabeled rows; there are none.")
        views = batch.unlabeled
        mixer = self.calibrator.mixer
        step = StepOutput(
            batch=batch, forward=Passes(network, autocast=self.autocast, averaged=self.averaged[0])
        )
        if self.weak_branch == "separate":
            step = step.run(views.weak, grad=False)
            step = self._with_pseudo(step, views)
        step = mixed_early(step, mixer, clock)
        step = step.run(*self._main_rows(step, views), between=_between(step))
        self._follow_labeled(step)
        if self.weak_branch == "joint":
            step = self._with_pseudo(step, views)
        step = mixed_late(step, mixer, clock)
        if mixer is not None and mixer.joins == "again":
            return self._again(step, views, clock)
        return self._outcome(step, views, clock)

    def _main_rows(self, step: StepOutput, views: Views) -> list[Rows]:
        """Who shares the main pass."""
        rows = [step.batch.labeled, *rows_beside(step, self.calibrator), views.strong]
        if self.weak_branch == "joint":
            rows.append(views.weak)
        if step.mixed is not None:
            if self.calibrator.mixer is not None and self.calibrator.mixer.joins == "instead":
                rows[0] = step.mixed.rows
            else:
                rows.append(step.mixed.rows)
        return rows

    def _follow_labeled(self, step: StepOutput) -> None:
        if self.algorithm.follow_labeled is not None:
            self.algorithm.follow_labeled(step.activations["labeled"].logits.detach())

    def _with_pseudo(self, step: StepOutput, views: Views) -> StepOutput:
        """The step with pseudo-labels and their weights, none of which carries a gradient."""
        with torch.no_grad():
            logits = step.activations["weak"].logits.detach()
            targets = self.algorithm.pseudo_label(logits)
            pseudo = Pseudo(
                targets=targets,
                labels=targets.argmax(1),
                weights=self.algorithm.weigh(logits, views.weak.index),
                probs=logits.softmax(1),
            )
        return replace(step, pseudo=pseudo)

    def _base(self, step: StepOutput, clock: Clock) -> Outcome:
        assert step.pseudo is not None
        criteria = self.calibrator.criteria_at(clock)
        unlabeled = unlabeled_loss(step, step.pseudo, criteria)
        return named(
            {
                "labeled": labeled_loss(step, criteria),
                "unlabeled": unlabeled * self.algorithm.unlabeled_weight,
            }
        )

    def _outcome(self, step: StepOutput, views: Views, clock: Clock) -> Outcome:
        assert step.pseudo is not None
        outcome = self._base(step, clock)
        outcome += named({"mixed": mixed_loss(step, self.calibrator.criteria_at(clock))})
        for term in self.calibrator.terms.values():
            outcome += term(step, clock)
        readings = pseudo_readings(step.pseudo, views.hidden_labels)
        return outcome + labeled_readings(step) + mixed_readings(step) + readings

    def _again(self, step: StepOutput, views: Views, clock: Clock) -> Outcome:
        """Everything once more, with the mixed rows beside it; the base losses count twice."""
        assert self.calibrator.mixer is not None
        mixed = self.calibrator.mixer(step, clock)
        if mixed is None:
            return self._outcome(step, views, clock)
        first = self._base(step, clock)
        second = replace(step, mixed=mixed)
        second = second.run(*self._main_rows(second, views), between=_between(second))
        self._follow_labeled(second)
        second = self._with_pseudo(second, views)
        doubled = {f"{name}_first": loss for name, loss in first.losses.items()}
        return Outcome(doubled) + self._outcome(second, views, clock)

    def review(self, predictions: Predictions, clock: Clock) -> None:
        """Show the validation predictions to the calibrators that want them."""
        for review in self.calibrator.reviews:
            review(predictions, clock)


def _between(step: StepOutput) -> Between | None:
    return None if step.mixed is None else step.mixed.between
