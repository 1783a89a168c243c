"""A watch over the training accuracy: does it stay where guessing would be?

    at chance:  accuracy of an epoch ≤ π + 2 √(π (1 − π) / n),   π the share of the largest class

n is how many rows the epoch had. A network that answers with the class frequencies stays there
whatever it is shown, and its mean confidence is π, too; one that is surer than that is something
else. Ours.
"""

import warnings

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mixcal.core.clock import Clock
from mixcal.core.errors import BadInput
from mixcal.core.facts import DataFacts

DEVIATIONS = 2.0
# How far above π the mean confidence of a prior classifier may lie.
NEAR = 0.05


class PriorClassifier(BadInput):
    """The network has become a prior classifier; training on would change nothing."""


class Guessing(BadInput):
    """The network guesses, and is sure of it."""


class PriorClassifierWarning(UserWarning):
    """The network seems to have become a prior classifier."""


class GuessingWarning(UserWarning):
    """The network seems to guess, and is sure of it."""


class ChanceWatch(nn.Module):
    """Counts, on the device, the whole epochs in a row whose accuracy was that of guessing."""

    # Buffers.
    right: Tensor
    seen: Tensor
    stuck: Tensor
    sure: Tensor
    confidence: Tensor

    def __init__(self, facts: DataFacts, *, epochs: int, remedy: str) -> None:
        super().__init__()
        self.chance = max(facts.drawn_shares)
        self.epoch_steps = facts.epoch_steps
        self.epochs = epochs
        self.remedy = remedy
        self._warned = False
        self.register_buffer("right", torch.tensor(0.0))
        self.register_buffer("seen", torch.tensor(0.0))
        self.register_buffer("stuck", torch.tensor(0))
        self.register_buffer("sure", torch.tensor(0.0))
        # The mean of the last whole epoch.
        self.register_buffer("confidence", torch.tensor(0.0))

    @torch.no_grad()
    def take(self, right: Float[Tensor, " n"], sure: Float[Tensor, " n"], clock: Clock) -> None:
        """How right and how sure of its answers a step was; the first step of an epoch closes the
        one before."""
        if clock.step % self.epoch_steps == 0:
            self._close()
        self.right += right.sum()
        self.sure += sure.sum()
        self.seen += len(right)

    def _close(self) -> None:
        rows = self.seen.clamp(min=1)
        spread = (self.chance * (1 - self.chance) / rows).sqrt()
        guessed = (self.right / rows <= self.chance + DEVIATIONS * spread) & (self.seen > 0)
        self.stuck.copy_(torch.where(guessed, self.stuck + 1, 0))
        self.confidence.copy_(self.sure / rows)
        self.right.zero_()
        self.sure.zero_()
        self.seen.zero_()

    def check(self, *, stop: bool) -> None:
        """Say so, once, or stop, if it has been guessing for long enough; asks the device."""
        if int(self.stuck) < self.epochs or (self._warned and not stop):
            return
        sentence = (
            f"The training accuracy has been that of guessing ({self.chance:.1%}) for "
            f"{int(self.stuck)} epochs"
        )
        confidence = float(self.confidence)
        prior = confidence <= self.chance + NEAR
        if prior:
            sentence += (
                ": the network has become a prior classifier, calibrated and useless; "
                f"{self.remedy}."
            )
        else:
            sentence += (
                f", at a mean confidence of {confidence:.1%}: the network does not learn; lower "
                "the learning rate, or look at the labels."
            )
        if stop:
            raise PriorClassifier(sentence) if prior else Guessing(sentence)
        self._warned = True
        kind = PriorClassifierWarning if prior else GuessingWarning
        warnings.warn(sentence, kind, stacklevel=2)
