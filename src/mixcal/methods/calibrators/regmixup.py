"""RegMixup: mixup beside the plain loss, not in its place (Pinto et al., NeurIPS 2022;
arXiv:2206.14502v2).

    L = CE(x, y) + η CE(x̃, ỹ),   λ ~ Beta(α, α)

Plain and mixed rows share one pass and its batch norms. The authors' commands take α = 20 on
CIFAR-10 and 10 on CIFAR-100. Their code means over both halves together, half of the equation's
sum: `scale = 0.5` does so. With η = 0 nothing is mixed. With a semi-supervised algorithm the
labeled rows are mixed and the unlabeled ones are left alone. As in the paper.
"""

from mixcal.core.facts import DataFacts
from mixcal.core.protocols import Calibrator
from mixcal.methods.calibrators.ranges import NOT_NEGATIVE, POSITIVE, within
from mixcal.methods.mixing.pairs import (
    PARTNERS,
    STREAMS,
    Pairing,
    PairMixer,
    equal_weights,
    first_stage,
)


def regmixup(
    facts: DataFacts,
    *,
    alpha: float = 10.0,
    eta: float = 1.0,
    scale: float = 1.0,
    pairing: Pairing = "permute",
    joint_forward: bool = True,
) -> Calibrator:
    """Mixed rows beside the labeled ones, or in a pass of their own."""
    within("regmixup", locals(), {"alpha": NOT_NEGATIVE, "eta": NOT_NEGATIVE, "scale": POSITIVE})
    if eta == 0:
        return Calibrator()
    mixer = PairMixer(
        partners=PARTNERS[pairing],
        weigh=equal_weights(alpha, "batch"),
        stage=first_stage(facts, pairing),
        joins="beside" if joint_forward else "after",
        loss_weight=eta * scale,
        labeled_weight=scale,
    )
    return Calibrator(mixer=mixer, streams=STREAMS[pairing])
