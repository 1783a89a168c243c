"""Pseudo-labels: from weak logits to targets."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from mixcal.core.errors import BadInput


def hard_labels(logits: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    """All mass on the class with the largest logit."""
    labels = logits.argmax(1, keepdim=True)
    return torch.zeros_like(logits).scatter_(1, labels, 1.0)


def soft_labels(logits: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    """The predicted distribution itself."""
    return logits.softmax(1)


PseudoTargets = Literal["hard", "soft"]
PSEUDO_TARGETS = {"hard": hard_labels, "soft": soft_labels}


def capped(threshold: float, epsilon: float, classes: int) -> float:
    """A confidence threshold scaled to what a network trained on smoothed labels can reach."""
    if not 0 <= epsilon <= 1:
        raise BadInput(
            f"threshold_cap is {epsilon}; it must be from 0 to 1, the epsilon of a label smoothing."
        )
    return threshold * (1 - epsilon + epsilon / classes)
