"""Class-adaptive label smoothing by an augmented Lagrangian, CALS (Liu et al., CVPR 2023;
arXiv:2211.15088v2).

    L = CE(z, q) + 1/K Σ_k φ_k,   φ_k = (max(x_k, 0)² − λ_k²) / (2 ρ_k)
    x_k = λ_k + ρ_k h_k,   h_k = (max_j z_j − z_k) / m − 1

λ and ρ, one number a class, follow the validation logits: λ after each epoch, ρ after every tenth.
The penalty is for the labeled rows, or for the mixed rows in their place; with a semi-supervised
algorithm the unlabeled rows have none, since the multipliers speak of rows whose class is known.
The validation split then is no longer unseen, and the run says so. As in the paper; the constants
are those of the published code.
"""

import torch
from torch import Tensor, nn

from mixcal.core.clock import Clock
from mixcal.core.facts import DataFacts
from mixcal.core.outcome import Outcome
from mixcal.core.predictions import Predictions
from mixcal.core.protocols import Calibrator
from mixcal.core.quantities import Count, Positive
from mixcal.core.step import StepOutput
from mixcal.methods.losses.class_adaptive_margin import (
    LEAST_MULTIPLIER,
    margin_penalty,
    next_multipliers,
    next_stiffness,
    violations,
)


class AdaptiveMargins(nn.Module):
    """The penalty with its multipliers; both change in `review` alone, never within an epoch."""

    # Buffers.
    multipliers: Tensor
    stiffness: Tensor
    violation: Tensor
    reviews: Tensor

    def __init__(self, classes: int, *, margin: float, stiffness_epochs: int) -> None:
        super().__init__()
        self.margin = margin
        self.stiffness_epochs = stiffness_epochs
        self.register_buffer("multipliers", torch.full((classes,), LEAST_MULTIPLIER))
        self.register_buffer("stiffness", torch.ones(classes))
        # Of the epoch before; infinite before the first: then nothing counts as stuck.
        self.register_buffer("violation", torch.full((classes,), torch.inf))
        self.register_buffer("reviews", torch.tensor(0))

    def forward(self, step: StepOutput, clock: Clock) -> Outcome:
        found = step.activations.get("labeled")
        if found is None:
            assert step.mixed is not None
            found = step.activations[step.mixed.rows.part]
        penalty = margin_penalty(found.logits, self.multipliers, self.stiffness, margin=self.margin)
        return Outcome(
            {"margin_penalty": penalty.mean()}, {"margin_multipliers": self.multipliers.mean()}
        )

    @torch.no_grad()
    def review(self, predictions: Predictions, clock: Clock) -> None:
        """Multipliers for the next epoch; stiffness after every so many."""
        logits = torch.from_numpy(predictions.logits).to(self.multipliers)
        now = violations(logits, margin=self.margin).mean(0)
        multipliers = next_multipliers(logits, self.multipliers, self.stiffness, margin=self.margin)
        self.reviews += 1
        if int(self.reviews) % self.stiffness_epochs == 0:
            self.stiffness.copy_(next_stiffness(self.stiffness, now, self.violation))
        self.multipliers.copy_(multipliers)
        self.violation.copy_(now)


def cals(facts: DataFacts, *, margin: Positive = 10.0, stiffness_epochs: Count = 10) -> Calibrator:
    """The penalty as a term, its multipliers reviewed after each epoch."""
    term = AdaptiveMargins(facts.classes, margin=margin, stiffness_epochs=stiffness_epochs)
    return Calibrator(terms={"margin_penalty": term}, reviews=(term.review,))
