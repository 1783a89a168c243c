"""Long-tailed pools: class sizes that fall exponentially (Cui et al., CVPR 2019;
arXiv:1901.05555v1).

    n_k = int(n_max · μ^(k / (K − 1))),   μ = 1 / imbalance

As in the published loaders: the class order is the data set's own, the test set stays balanced.
"""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from mixcal.core.errors import BadInput

# 49.999999 images mean 50.
ALLOWANCE = 1e-6


def long_tailed(
    labels: Int[np.ndarray, " n"],
    imbalance: float,
    head_count: int | None,
    *,
    classes: Sequence[str],
) -> list[int]:
    """How many images each class keeps."""
    sizes = np.bincount(labels[labels >= 0], minlength=len(classes))
    shares = [(1 / imbalance) ** (k / (len(classes) - 1)) for k in range(len(classes))]
    head = head_count or largest_head(sizes.tolist(), shares)
    counts = [int(head * share + ALLOWANCE) for share in shares]
    lacking = [k for k, count in enumerate(counts) if count > sizes[k]]
    if lacking:
        k = lacking[0]
        most = largest_head(sizes.tolist(), shares)
        raise BadInput(
            f"method.data.imbalance = {imbalance:g} with a head of {head:,} asks for {counts[k]:,} "
            f"images of class {classes[k]!r}, which has {sizes[k]:,}; set method.data.head_count "
            f"to {most:,} or less."
        )
    return counts


def largest_head(sizes: Sequence[int], shares: Sequence[float]) -> int:
    """The most images of the first class at which every class has enough for its share."""
    return min(
        math.ceil((size + 1 - ALLOWANCE) / share) - 1
        for size, share in zip(sizes, shares, strict=True)
    )
