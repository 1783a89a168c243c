"""RegMixup (Pinto et al., NeurIPS 2022; arXiv:2206.14502v2).

    L = CE(z, q) + η CE(z′, q′)

z′, q′ are logits and targets of mixed rows, one for each row: with two labels
q′ = λ onehot(y) + (1 − λ) onehot(y′). As in the paper. The published code takes the mean over both
kinds of rows together, half of this: `scale = 0.5`.
"""

from jaxtyping import Float
from torch import Tensor

from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.truth import Targets, one_for_each


def regmixup(
    logits: Float[Tensor, "n k"],
    targets: Targets,
    *,
    mixed_logits: Float[Tensor, "n k"],
    mixed_targets: Targets,
    eta: float = 1.0,
    scale: float = 1.0,
) -> Float[Tensor, " n"]:
    """Cross-entropy of each row plus η times that of its mixed row."""
    one_for_each(mixed_logits, logits, name="mixed_logits")
    mixed = cross_entropy(mixed_logits, mixed_targets)
    return scale * (cross_entropy(logits, targets) + eta * mixed)
