"""Manifold mixup (Verma et al., ICML 2019; arXiv:1806.05236v7).

    h̃_k = λ h_k(x_i) + (1 − λ) h_k(x_j),   ỹ = λ y_i + (1 − λ) y_j,   k uniform in S

A stage k is drawn for every step and the activations after it are mixed with one λ for the batch;
the gradient flows through both members. S holds stages of the network by name (`input`, `group1` …;
of the sentence network `embedding`, `sentence`). `loss = "bce"` is what the paper's code minimizes
in place of cross-entropy: the binary cross-entropy of the softmax outputs, meant over classes. With
a semi-supervised algorithm the labeled rows are mixed and the unlabeled ones are left alone. As in
the paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from mixcal.core.clock import Clock
from mixcal.core.errors import BadInput
from mixcal.core.facts import DataFacts
from mixcal.core.protocols import Calibrator, Joins
from mixcal.core.step import Mixed, StepOutput
from mixcal.methods.calibrators.ranges import NOT_NEGATIVE, within
from mixcal.methods.losses.softmax_binary import softmax_binary_cross_entropy
from mixcal.methods.mixing.coefficients import mixing_weights
from mixcal.methods.mixing.pairs import mixed_pairs, permuted


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifoldMixer:
    """Mixes after a stage drawn anew at every step."""

    stages: tuple[str, ...]
    alpha: float
    joins: Joins = "instead"

    def __call__(self, step: StepOutput, clock: Clock) -> Mixed | None:
        drawn = torch.rand(1, generator=clock.generator).numpy()
        stage = self.stages[int(drawn[0] * len(self.stages))]
        pairs = permuted(step, clock)
        weight = mixing_weights(self.alpha, pairs.first.targets, generator=clock.generator)
        return mixed_pairs(pairs, weight, weight, stage=stage)


def manifold_mixup(
    facts: DataFacts,
    *,
    alpha: float = 2.0,
    stages: Sequence[str] = (),
    loss: Literal["cross_entropy", "bce"] = "cross_entropy",
) -> Calibrator:
    """Mixed in the inputs or in a hidden layer; no stages named: the paper's three."""
    within("manifold-mixup", locals(), {"alpha": NOT_NEGATIVE})
    usual = ("input", "group1", "group2") if facts.input_kind == "image" else ("embedding",)
    if facts.input_kind != "image" and "input" in stages:
        raise BadInput('Words cannot be blended before their lookup; name the stage "embedding".')
    mixer = ManifoldMixer(stages=tuple(stages) or usual, alpha=alpha)
    if loss == "bce":
        return Calibrator(mixer=mixer, criteria={"mixed": softmax_binary_cross_entropy})
    return Calibrator(mixer=mixer)
