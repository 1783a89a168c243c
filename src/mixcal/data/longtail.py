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
    if imbalance < 1:
        raise BadInput(f"method.data.imbalance is {imbalance}; it must be at least 1.")
    head = head_count or int(np.bincount(labels[labels >= 0], minlength=len(classes)).max())
    last = len(classes) - 1
    # A tiny allowance: 49.999999 means 50.
    return [int(head * (1 / imbalance) ** (k / last) + 1e-6) for k in range(len(classes))]
