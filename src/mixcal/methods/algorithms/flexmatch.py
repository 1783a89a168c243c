"""FlexMatch (Zhang et al., NeurIPS 2021; arXiv:2110.08263v3).

    keep = max p ≥ τ · M(β_c),   M(β) = β / (2 − β),   c = argmax p
    β_c = (unlabeled samples whose last confident label is c) / max over classes

A sample is confident when max p ≥ τ, the fixed threshold. With `threshold_warmup` the count of
samples that were never confident takes part in the maximum. β is of the steps before this one: a
sample must not raise the threshold it is judged by. As in the paper.
"""

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mixcal.core.facts import DataFacts
from mixcal.core.protocols import Algorithm
from mixcal.core.quantities import Share, ShareBelowOne, Size
from mixcal.methods.algorithms.pseudo_labels import PSEUDO_TARGETS, PseudoTargets, capped

NEVER = -1
Mapping = Literal["convex", "linear"]


class ClassThresholds(nn.Module):
    """One threshold a class, by how many samples the class has been given.

    Counts are kept by increments on the device, never recounted. If a sample occurs twice in a
    batch, its last row counts.
    """

    # Buffers.
    last: Tensor
    counts: Tensor

    def __init__(
        self, classes: int, samples: int, *, threshold: float, warmup: bool, mapping: Mapping
    ) -> None:
        super().__init__()
        self.threshold = threshold
        self.warmup = warmup
        self.mapping = mapping
        self.register_buffer("last", torch.full((samples,), NEVER))
        counts = torch.zeros(classes + 1, dtype=torch.int64)
        counts[NEVER] = samples
        self.register_buffer("counts", counts)

    def forward(
        self, logits: Float[Tensor, "n k"], index: Int[Tensor, " n"]
    ) -> Float[Tensor, " n"]:
        confidence, labels = logits.softmax(1).max(1)
        keep = confidence >= self.threshold * self._share()[labels]
        self._remember(labels, confidence >= self.threshold, index)
        return keep.float()

    def _share(self) -> Float[Tensor, " k"]:
        """M(β) of each class, from the counts before this batch."""
        counted = self.counts if self.warmup else self.counts[:-1]
        beta = self.counts[:-1] / counted.max().clamp(min=1)
        return beta if self.mapping == "linear" else beta / (2 - beta)

    def _remember(
        self, labels: Int[Tensor, " n"], confident: Tensor, index: Int[Tensor, " n"]
    ) -> None:
        before = self.last[index]
        # For each row, the last confident row with its index: that one decides.
        rows = torch.arange(len(index), device=index.device)
        rivals = (index[:, None] == index) & confident
        winner = torch.where(rivals, rows, NEVER).amax(1)
        after = torch.where(winner == NEVER, before, labels[winner.clamp(min=0)])
        # Equal indices write equal values, and are counted once, by the winning row.
        self.last.index_copy_(0, index, after)
        change = (winner == rows).long()
        slots = self.counts.shape[0]
        self.counts.scatter_add_(0, before.remainder(slots), -change)
        self.counts.scatter_add_(0, after.remainder(slots), change)


def flexmatch(
    facts: DataFacts,
    *,
    threshold: Share = 0.95,
    threshold_cap: ShareBelowOne = 0.0,
    threshold_warmup: bool = True,
    mapping: Mapping = "convex",
    pseudo_targets: PseudoTargets = "hard",
    unlabeled_weight: Size = 1.0,
) -> Algorithm:
    """FlexMatch. `threshold_cap`: the ε of a label smoothing that the threshold is scaled to."""
    weigh = ClassThresholds(
        facts.classes,
        facts.unlabeled,
        threshold=capped(threshold, threshold_cap, facts.classes),
        warmup=threshold_warmup,
        mapping=mapping,
    )
    return Algorithm(
        pseudo_label=PSEUDO_TARGETS[pseudo_targets], weigh=weigh, unlabeled_weight=unlabeled_weight
    )
