"""Cross-entropy under the training prior: Bayias (Xu, Chai & Yuan, NeurIPS 2021;
arXiv:2111.03874v3).

    CE(z + s · (log π_train − log π_test), q),   π_test uniform,  s = 1

In training only: the network's own logits then answer under the test prior. As in the paper; s ≠ 1
is the logit adjustment of Menon et al. (arXiv:2007.07314v2).
"""

import torch
from jaxtyping import Float
from torch import Tensor

from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.truth import Targets


def prior_adjusted_cross_entropy(
    logits: Float[Tensor, "n k"],
    targets: Targets,
    *,
    prior: Float[Tensor, " k"],
    strength: float = 1.0,
) -> Float[Tensor, " n"]:
    """Cross-entropy of the adjusted logits."""
    return cross_entropy(adjusted(logits, prior=prior, strength=strength), targets)


def adjusted(
    logits: Float[Tensor, "n k"], *, prior: Float[Tensor, " k"], strength: float = 1.0
) -> Float[Tensor, "n k"]:
    """Logits under the training prior; a class that never occurs there stays as it is."""
    # log π_train − log (1 / K), and nothing for a class whose logarithm does not exist.
    shift = torch.where(prior > 0, prior * len(prior), 1.0).log()
    return logits + strength * shift.to(logits.device, non_blocking=True)
