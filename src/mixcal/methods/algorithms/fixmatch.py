"""FixMatch (Sohn et al., NeurIPS 2020; arXiv:2001.07685v2).

    L = CE(labeled) + λ_u · 1/μB Σ 1[max p ≥ τ] CE(strong, argmax p),   p from the weak view

The mean runs over all unlabeled rows of the batch, kept or not. As in the paper. Public codes
carry a temperature for p that has no effect on hard labels; `temperature` applies it before the
threshold, as one of them does (1: off). `pseudo_targets = "soft"` is their other reading: the weak
view's distribution in place of its argmax, at temperature 1 whatever the threshold's is.
"""

from jaxtyping import Float, Int
from torch import Tensor, nn

from mixcal.core.facts import DataFacts
from mixcal.core.protocols import Algorithm
from mixcal.core.quantities import Positive, Share, ShareBelowOne, Size
from mixcal.methods.algorithms.pseudo_labels import PSEUDO_TARGETS, PseudoTargets, capped


class FixedThreshold(nn.Module):
    """1 where the confidence reaches the threshold, else 0."""

    def __init__(self, threshold: float, temperature: float) -> None:
        super().__init__()
        self.threshold = threshold
        self.temperature = temperature

    def forward(
        self, logits: Float[Tensor, "n k"], index: Int[Tensor, " n"]
    ) -> Float[Tensor, " n"]:
        confidence = (logits / self.temperature).softmax(1).amax(1)
        return (confidence >= self.threshold).float()


def fixmatch(
    facts: DataFacts,
    *,
    threshold: Share = 0.95,
    threshold_cap: ShareBelowOne = 0.0,
    temperature: Positive = 1.0,
    pseudo_targets: PseudoTargets = "hard",
    unlabeled_weight: Size = 1.0,
) -> Algorithm:
    """FixMatch. `threshold_cap`: the ε of a label smoothing that the threshold is scaled to."""
    threshold = capped(threshold, threshold_cap, facts.classes)
    return Algorithm(
        pseudo_label=PSEUDO_TARGETS[pseudo_targets],
        weigh=FixedThreshold(threshold, temperature),
        unlabeled_weight=unlabeled_weight,
    )
