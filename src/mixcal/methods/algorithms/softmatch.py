"""SoftMatch (Chen et al., ICLR 2023; arXiv:2301.10921v2).

    w = exp(− min(m − μ, 0)² / (2 σ² / n²)),   m = max q,   n = 2
    q ∝ p · (1/K + 1e-6) / (p̄ + 1e-6)          uniform alignment

μ and σ² are moving averages of the batch's mean and unbiased variance of the confidence, p̄ of its
mean prediction; all are updated with this batch before they are used. The pseudo-label is the
argmax of p, not of q. As in the paper, μ and σ² follow the confidence of p ("raw"); the widely used
benchmark code follows that of q ("aligned"), and the recipes of tables made with it say so.
`target = "labeled"` is that code's other reading of the alignment: in place of 1/K stands a moving
average of the mean prediction on labeled rows, begun at 1/K. Where the labeled rows share the weak
ones' pass it holds this batch, too; where they come after them, it is of the steps before.
"""

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mixcal.core.facts import DataFacts
from mixcal.core.protocols import Algorithm
from mixcal.core.quantities import Positive, ShareBelowOne, Size
from mixcal.methods.algorithms.pseudo_labels import PSEUDO_TARGETS, PseudoTargets

FLOOR = 1e-6
Moments = Literal["raw", "aligned"]
Target = Literal["uniform", "labeled"]


class GaussianWeight(nn.Module):
    """1 above the mean confidence, a Gaussian's fall below it."""

    # Buffers.
    mean: Tensor
    variance: Tensor
    prediction: Tensor
    started: Tensor
    # None: 1/K, which never moves.
    target: Tensor | None

    def __init__(
        self,
        classes: int,
        *,
        momentum: float,
        deviations: float,
        moments: Moments,
        align: bool,
        target: Target,
    ) -> None:
        super().__init__()
        self.momentum = momentum
        self.deviations = deviations
        self.moments = moments
        self.align = align
        self.register_buffer("mean", torch.tensor(1 / classes))
        self.register_buffer("variance", torch.tensor(1.0))
        self.register_buffer("prediction", torch.full((classes,), 1 / classes))
        self.register_buffer("started", torch.tensor(False))
        uniform = torch.full((classes,), 1 / classes)
        self.register_buffer("target", uniform if target == "labeled" else None)

    def forward(
        self, logits: Float[Tensor, "n k"], index: Int[Tensor, " n"]
    ) -> Float[Tensor, " n"]:
        probs = logits.softmax(1)
        aligned = self._aligned(probs) if self.align else probs
        confidence = aligned.amax(1)
        self._follow(confidence if self.moments == "aligned" else probs.amax(1))
        below = (confidence - self.mean).clamp(max=0)
        return torch.exp(-below.square() / (2 * self.variance / self.deviations**2))

    @torch.no_grad()
    def follow_labeled(self, logits: Float[Tensor, "n k"]) -> None:
        """Move the target towards the labeled rows' mean prediction."""
        assert self.target is not None
        self.target.lerp_(logits.softmax(1).mean(0), 1 - self.momentum)

    def _aligned(self, probs: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        batch = probs.mean(0)
        moved = torch.lerp(batch, self.prediction, self.momentum)
        self.prediction.copy_(torch.where(self.started, moved, batch))
        self.started.fill_(True)
        target = 1 / probs.shape[1] if self.target is None else self.target
        aligned = probs * (target + FLOOR) / (self.prediction + FLOOR)
        return aligned / aligned.sum(1, keepdim=True)

    def _follow(self, confidence: Float[Tensor, " n"]) -> None:
        self.mean.lerp_(confidence.mean(), 1 - self.momentum)
        # One row has no variance; the old value stands.
        if len(confidence) > 1:
            self.variance.lerp_(confidence.var(), 1 - self.momentum)


def softmatch(
    facts: DataFacts,
    *,
    momentum: ShareBelowOne = 0.999,
    deviations: Positive = 2.0,
    moments: Moments = "raw",
    align: bool = True,
    target: Target = "uniform",
    pseudo_targets: PseudoTargets = "hard",
    unlabeled_weight: Size = 1.0,
) -> Algorithm:
    """SoftMatch."""
    weigh = GaussianWeight(
        facts.classes,
        momentum=momentum,
        deviations=deviations,
        moments=moments,
        align=align,
        target=target,
    )
    return Algorithm(
        pseudo_label=PSEUDO_TARGETS[pseudo_targets],
        weigh=weigh,
        unlabeled_weight=unlabeled_weight,
        follow_labeled=weigh.follow_labeled if align and target == "labeled" else None,
    )
