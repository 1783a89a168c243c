"""Feature-only mixup: mixed inputs, hard labels (Thulasidasan et al., NeurIPS 2019;
arXiv:1905.11001v5, section 5).

    x̃ = λ x_i + (1 − λ) x_j,   ỹ = y_i if λ ≥ ½ else y_j

The paper's control experiment: how much of mixup's calibration comes from mixing features alone.
"Nearer" is the member with the larger coefficient; at λ = ½ it is the first. With a semi-supervised
algorithm the labeled rows are mixed and the unlabeled ones are left alone. As in the paper.
"""

import torch

from mixcal.core.facts import DataFacts
from mixcal.core.protocols import Calibrator
from mixcal.methods.calibrators.ranges import NOT_NEGATIVE, within
from mixcal.methods.mixing.coefficients import mixing_weights
from mixcal.methods.mixing.pairs import (
    PARTNERS,
    STREAMS,
    Pairing,
    PairMixer,
    Pairs,
    Weights,
    first_stage,
)


def feature_only_mixup(
    facts: DataFacts, *, alpha: float = 0.4, pairing: Pairing = "permute"
) -> Calibrator:
    """Mixed rows with the label of the nearer member, in place of the labeled ones."""
    within("feature-only-mixup", locals(), {"alpha": NOT_NEGATIVE})

    def weigh(pairs: Pairs, generator: torch.Generator) -> Weights:
        weight = mixing_weights(alpha, pairs.first.targets, generator=generator)
        return weight, (weight >= 0.5).to(weight.dtype)

    mixer = PairMixer(partners=PARTNERS[pairing], weigh=weigh, stage=first_stage(facts, pairing))
    return Calibrator(mixer=mixer, streams=STREAMS[pairing])
