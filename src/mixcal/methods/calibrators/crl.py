"""Correctness ranking loss, CRL (Moon et al., ICML 2020; arXiv:2007.01458v3).

    L = CE(z, q) + w · mean_i max(0, −g (κ_i − κ_j) + |c̃_i − c̃_j|),   g = sign(c̃_i − c̃_j)
    c̃_i = (C_i − min C) / (C_most − min C),   j the row after i;   0 where g = 0

C_i counts how often sample i was classified correctly, in training mode on its augmented views;
it is used as it was before this batch, which is added afterwards. C_most is how many passes over
the labeled rows are complete, at least 1. The history is of labels that are known, so with a
semi-supervised algorithm it ranks the labeled rows alone; mixed rows have no history, so it does
not go with a mixer that takes the labeled rows' place. As in the paper, w = 1 as in its code.
"""

import torch
from torch import Tensor, nn

from mixcal.core.clock import Clock
from mixcal.core.errors import BadInput
from mixcal.core.facts import DataFacts
from mixcal.core.outcome import Outcome
from mixcal.core.protocols import Calibrator
from mixcal.core.quantities import Size
from mixcal.core.step import StepOutput
from mixcal.methods.losses.correctness_ranking import correctness_share, ranking_losses
from mixcal.methods.losses.truth import confidences


class CorrectnessRanking(nn.Module):
    """The ranking loss of the labeled rows and the history behind it."""

    # A buffer.
    correct: Tensor

    def __init__(self, samples: int, weight: float) -> None:
        super().__init__()
        self.samples = samples
        self.weight = weight
        self.register_buffer("correct", torch.zeros(samples, dtype=torch.int64))

    def forward(self, step: StepOutput, clock: Clock) -> Outcome:
        rows, logits = step.batch.labeled, step.activations["labeled"].logits
        passes = clock.step * len(rows) // self.samples
        history = correctness_share(self.correct[rows.index], max(passes, 1), self.correct.min())
        disorder = ranking_losses(confidences(logits), history).mean()
        with torch.no_grad():
            right = logits.argmax(1) == rows.targets.argmax(1)
            self.correct.index_add_(0, rows.index, right.to(self.correct.dtype))
        return Outcome({"correctness_ranking": self.weight * disorder})


def needs_unmixed_rows(whole: Calibrator) -> None:
    """Refuse mixers after which no labeled row is left as it was."""
    if whole.mixer is not None and whole.mixer.joins == "instead":
        raise BadInput(
            "CRL counts how often each labeled row was classified correctly, and mixed rows in "
            "their place leave none to count; drop the mixer, or take RegMixup."
        )


def crl(facts: DataFacts, *, weight: Size = 1.0) -> Calibrator:
    """The ranking loss beside the labeled rows' own."""
    if weight == 0:
        return Calibrator()
    if facts.order == "balanced":
        raise BadInput(
            "CRL compares how often rows were classified correctly, and balanced batches show rows "
            'of rare classes more often; set method.data.order = "passes".'
        )
    term = CorrectnessRanking(facts.labeled, weight)
    return Calibrator(terms={"correctness_ranking": term}, conditions=(needs_unmixed_rows,))
