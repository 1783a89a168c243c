"""Four small methods that need what real ones need: if these fit, the seams carry.

One makes an extra pass, one mixes in a hidden layer, one keeps a history of every sample, one
looks at the validation predictions after each epoch.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from mixcal.core.activations import Between
from mixcal.core.clock import Clock
from mixcal.core.facts import DataFacts
from mixcal.core.outcome import Outcome
from mixcal.core.predictions import Predictions
from mixcal.core.protocols import Calibrator, Joins
from mixcal.core.rows import Rows
from mixcal.core.step import Mixed, StepOutput


class Consistency(nn.Module):
    """Pulls the logits of noisy copies of the labeled rows towards those of the rows."""

    def __init__(self, weight: float) -> None:
        super().__init__()
        self.weight = weight

    def forward(self, step: StepOutput, clock: Clock) -> Outcome:
        rows = step.batch.labeled
        noise = torch.randn(rows.inputs.shape, generator=clock.generator).to(
            rows.inputs.device, non_blocking=True
        )
        noisy = Rows(
            inputs=rows.inputs + 0.1 * noise, targets=rows.targets, index=rows.index, part="noisy"
        )
        clean = step.activations.get("labeled") or step.forward(rows)["labeled"]
        again = step.forward(noisy, statistics=False)["noisy"]
        apart = (again.logits - clean.logits).square().mean()
        return Outcome({"consistency": self.weight * apart})


def extra_pass(facts: DataFacts, *, weight: float = 1.0) -> Calibrator:
    """A method with a pass of its own."""
    return Calibrator(terms={"consistency": Consistency(weight)})


class HiddenMixer:
    """Blends the hidden activations of each labeled row with those of another."""

    joins: Joins = "instead"

    def __init__(self, stage: str, weight: float) -> None:
        self.stage = stage
        self.weight = weight

    def __call__(self, step: StepOutput, clock: Clock) -> Mixed | None:
        rows = step.batch.labeled
        order = torch.randperm(len(rows), generator=clock.generator).to(
            rows.index.device, non_blocking=True
        )
        share = torch.full((len(rows),), self.weight, device=rows.index.device)
        second = rows.take(order, part="second")
        targets = self.weight * rows.targets + (1 - self.weight) * second.targets
        mixed = Rows(inputs=rows.inputs, targets=targets, index=rows.index, part="mixed")

        def blend(hidden: Tensor) -> Tensor:
            return self.weight * hidden + (1 - self.weight) * hidden[order]

        return Mixed(
            rows=mixed,
            first=rows,
            second=second,
            image_weight=share,
            target_weight=share,
            loss_weight=torch.ones_like(share),
            between=Between(self.stage, blend),
        )


def hidden_mixing(facts: DataFacts, *, stage: str = "group1", weight: float = 0.7) -> Calibrator:
    """A method that mixes in the middle of the network."""
    return Calibrator(mixer=HiddenMixer(stage, weight))


class History(nn.Module):
    """Counts, for every labeled sample, how often it was seen and how often it was right."""

    seen: Tensor
    right: Tensor

    def __init__(self, samples: int, weight: float) -> None:
        super().__init__()
        self.weight = weight
        self.register_buffer("seen", torch.zeros(samples))
        self.register_buffer("right", torch.zeros(samples))

    def forward(self, step: StepOutput, clock: Clock) -> Outcome:
        rows = step.batch.labeled
        found = step.activations.get("labeled") or step.forward(rows, grad=False)["labeled"]
        # The history before this batch decides; the batch is added afterwards.
        share = (self.right[rows.index] + 1) / (self.seen[rows.index] + 2)
        with torch.no_grad():
            correct = (found.logits.argmax(1) == rows.targets.argmax(1)).float()
            self.seen.index_add_(0, rows.index, torch.ones_like(correct))
            self.right.index_add_(0, rows.index, correct)
        confidence = found.logits.softmax(1).amax(1)
        return Outcome({"history": self.weight * (confidence - share).square().mean()})


def per_sample_history(facts: DataFacts, *, weight: float = 1.0) -> Calibrator:
    """A method that remembers samples over epochs."""
    return Calibrator(terms={"history": History(facts.labeled, weight)})


class Reviewed(nn.Module):
    """Adds a penalty on confidence whose weight follows the validation gap of each epoch."""

    strength: Tensor
    reviews: Tensor

    def __init__(self, weight: float) -> None:
        super().__init__()
        self.weight = weight
        self.register_buffer("strength", torch.tensor(0.0))
        self.register_buffer("reviews", torch.tensor(0))

    def forward(self, step: StepOutput, clock: Clock) -> Outcome:
        found = step.activations.get("labeled") or step.forward(step.batch.labeled)["labeled"]
        confidence = found.logits.softmax(1).amax(1).mean()
        return Outcome({"reviewed": self.weight * self.strength * confidence})

    def review(self, predictions: Predictions, clock: Clock) -> None:
        probs = predictions.probs
        accuracy = (probs.argmax(1) == predictions.labels).mean()
        self.strength.fill_(float(probs.max(1).mean() - accuracy))
        self.reviews += 1


def reviewed_each_epoch(facts: DataFacts, *, weight: float = 1.0) -> Calibrator:
    """A method that looks at validation predictions."""
    term = Reviewed(weight)
    return Calibrator(terms={"reviewed": term}, reviews=(term.review,))


Toy = Literal["extra_pass", "hidden_mixing", "per_sample_history", "reviewed_each_epoch"]
TOYS = {
    "extra_pass": extra_pass,
    "hidden_mixing": hidden_mixing,
    "per_sample_history": per_sample_history,
    "reviewed_each_epoch": reviewed_each_epoch,
}
