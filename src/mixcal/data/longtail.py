"""Long-tailed pools: class sizes that fall exponentially (Cui et al., CVPR 2019;
arXiv:1901.05555v1).

    n_k = int(n_max · μ^(k / (K − 1))),   μ = 1 / imbalance

As in the published loaders: the class order is the data set's own, the test set stays balanced.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from mixcal.core.errors import BadInput


def long_tailed(
    labels: Int[np.ndarray, " n"],
    imbalance: float,
    head_count: int | None,
    *,
    classes: Sequence[str],
) -> list[int]:
    """How many images each class keeps."""
    sizes = np.bincount(labels[labels >= 0], minlength=len(classes))
    head = head_count or int(sizes.max())
    shares = [(1 / imbalance) ** (k / (len(classes) - 1)) for k in range(len(classes))]
    # A tiny allowance: 49.999999 means 50.
    counts = [int(head * share + 1e-6) for share in shares]
    lacking = [k for k, count in enumerate(counts) if count > sizes[k]]
    if lacking:
        k = lacking[0]
        most = min(int(size / share) for size, share in zip(sizes, shares, strict=True))
        raise BadInput(
            f"method.data.imbalance = {imbalance:g} with a head of {head:,} asks for {counts[k]:,} "
            f"images of class {classes[k]!r}, which has {sizes[k]:,}; set method.data.head_count "
            f"to {most:,} or less."
        )
    return counts
