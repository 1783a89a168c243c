"""Label smoothing (Szegedy et al., CVPR 2016; arXiv:1512.00567v3, section 7).

    q′ = (1 − ε) q + ε / K                      "uniform"
    q′ = (1 − ε) q + ε / (K − 1) · (1 − q)      "others"

"uniform" as in the paper; "others" spreads the mass over the other classes only, as Thulasidasan
et al. (NeurIPS 2019; arXiv:1905.11001v5) word it. The first with ε equals the second with
ε (K − 1) / K. Soft targets are allowed: q may be any distribution.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from mixcal.methods.losses.choices import known
from mixcal.methods.losses.truth import Targets, at_truth, in_full, weighed

Mode = Literal["uniform", "others"]


def smoothed_cross_entropy(
    logits: Float[Tensor, "n k"],
    targets: Targets,
    *,
    epsilon: float = 0.1,
    mode: Mode = "uniform",
) -> Float[Tensor, " n"]:
    """Cross-entropy to the smoothed targets, without ever writing them down."""
    known(mode, Mode, option="mode")
    logits, targets = in_full(logits, targets)
    epsilon = _uniform_share(epsilon, mode, logits.shape[1])
    logs = torch.log_softmax(logits, dim=1)
    everywhere = logs.mean(1) if targets.ndim == 1 else logs.mean(1) * targets.sum(1)
    return -torch.lerp(weighed(at_truth(logs, targets), targets), everywhere, epsilon)


def smoothed(
    targets: Float[Tensor, "n k"], *, epsilon: float, mode: Mode = "uniform"
) -> Float[Tensor, "n k"]:
    """q′; rows of zeros stay zero, they are no targets."""
    known(mode, Mode, option="mode")
    classes = targets.shape[1]
    mass = targets.sum(1, keepdim=True)
    uniform = (mass / classes).expand_as(targets)
    return torch.lerp(targets, uniform, _uniform_share(epsilon, mode, classes))


def _uniform_share(epsilon: float, mode: Mode, classes: int) -> float:
    """The ε of the uniform reading; where there is one class there are no others."""
    if mode == "uniform" or classes == 1:
        return epsilon
    return epsilon * classes / (classes - 1)
