"""Focal calibration loss, FCL (Liang et al., 2024; arXiv:2410.18321v1).

    L = focal_γ(z, q) + λ Σ_k (p_k − q_k)²

No code was published. The abstract speaks of a Euclidean norm and of a proper score; only the
squared norm is one, so it is squared, and summed over the classes. γ = 3, λ = 0.5 as CSM
(arXiv:2504.13548v2) used it.
"""

from functools import partial

from jaxtyping import Float
from torch import Tensor

from mixcal.methods.losses.blocks import in_blocks, log_probs_and_probs, through_softmax
from mixcal.methods.losses.focal import focus
from mixcal.methods.losses.modulated import modulated_parts
from mixcal.methods.losses.truth import Targets, apart, at_truth, in_full, weighed


def focal_calibration(
    logits: Float[Tensor, "n k"], targets: Targets, *, gamma: float = 3.0, weight: float = 0.5
) -> Float[Tensor, " n"]:
    """Focal loss plus the weighted Brier score, from one softmax."""
    logits, targets = in_full(logits, targets)
    return in_blocks(partial(_sloped, gamma=gamma, weight=weight), logits, beside=(targets,))


def _sloped(
    logits: Tensor, targets: Tensor, *, gamma: float, weight: float
) -> tuple[Tensor, tuple[Tensor]]:
    logs, probs = log_probs_and_probs(logits)
    values, slopes = modulated_parts(
        at_truth(logs, targets), at_truth(probs, targets), partial(focus, gamma=gamma)
    )
    distance = apart(probs, targets)
    pulls = (probs * distance).mul_(2 * weight)
    squares = distance.square_().sum(1).mul_(weight)
    if targets.ndim == 2:
        pulls.addcmul_(targets, slopes)
    else:
        pulls.scatter_add_(1, targets[:, None], slopes[:, None])
    return squares.add_(weighed(values, targets)), (through_softmax(pulls, probs),)
