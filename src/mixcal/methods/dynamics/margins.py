"""Margins: how far a class's logit stands above all others.

    PM_c = z_c − max_{j ≠ c} z_j

(Pleiss et al., NeurIPS 2020; arXiv:2001.10528v4: the margin of the given label. Sosea & Caragea,
CVPR 2023; arXiv:2308.09037v1, equation 3: the pseudo-margin of every class.) As in the papers.
"""

from jaxtyping import Float, Int
from torch import Tensor


def pseudo_margins(logits: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    """z_c − max over j ≠ c of z_j, for every class c."""
    top, place = logits.topk(2, dim=1)
    highest_other = top[:, :1].expand_as(logits).clone()
    # Only the winner is held against the second; everybody else against the winner.
    highest_other.scatter_(1, place[:, :1], top[:, 1:2])
    return logits - highest_other


def label_margins(logits: Float[Tensor, "n k"], labels: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
    """The margin of each row's own label."""
    return pseudo_margins(logits).gather(1, labels[:, None])[:, 0]
