"""Mixup (Zhang et al., ICLR 2018; arXiv:1710.09412v2), and what it does for calibration
(Thulasidasan et al., NeurIPS 2019; arXiv:1905.11001v5).

    x̃ = λ x_i + (1 − λ) x_j,   ỹ = λ y_i + (1 − λ) y_j,   λ ~ Beta(α, α)

The mixed rows take the place of the labeled ones: one pass, soft cross-entropy, one λ a batch.
"permute" pairs a batch with a permutation of itself, as the paper's code does; "two_loaders" with a
second stream over the same data, as Maronas et al. (arXiv:2003.09946) do. Texts are mixed word by
word after the lookup (Guo, Mao & Zhang 2019; arXiv:1905.08941v1). α = 1 is the first paper's; the
second finds the lowest ECE between 0.2 and 0.4. With a semi-supervised algorithm the labeled rows
are mixed and the unlabeled ones are left alone. As in the paper.
"""

from typing import Literal

from mixcal.core.facts import DataFacts
from mixcal.core.protocols import Calibrator
from mixcal.methods.calibrators.ranges import NOT_NEGATIVE, within
from mixcal.methods.mixing.pairs import (
    PARTNERS,
    STREAMS,
    Pairing,
    PairMixer,
    equal_weights,
    first_stage,
)


def mixup(
    facts: DataFacts,
    *,
    alpha: float = 1.0,
    pairing: Pairing = "permute",
    draw: Literal["batch", "sample"] = "batch",
) -> Calibrator:
    """Mixed rows in place of the labeled ones."""
    within("mixup", locals(), {"alpha": NOT_NEGATIVE})
    mixer = PairMixer(
        partners=PARTNERS[pairing],
        weigh=equal_weights(alpha, draw),
        stage=first_stage(facts, pairing),
    )
    return Calibrator(mixer=mixer, streams=STREAMS[pairing])
