"""Margin-based label smoothing, MbLS (Liu et al., CVPR 2022; arXiv:2111.15430v4).

    L = CE(z, q) + α · 1/K Σ_k max(0, max_j z_j − z_k − m)

It stands in for cross-entropy on the parts named. The paper's margin is 6 on CIFAR and 10 on
Tiny-ImageNet and ImageNet. With a semi-supervised algorithm it keeps logits of pseudo-labeled rows
together, too; a threshold of 0.95 needs a margin above log(19 (K − 1)), 5.2 for ten classes. As in
the paper.
"""

from collections.abc import Sequence
from functools import partial

from mixcal.core.facts import DataFacts
from mixcal.core.protocols import EVERYWHERE, Calibrator, Part
from mixcal.methods.calibrators.ranges import NOT_NEGATIVE, within
from mixcal.methods.losses.margin_label_smoothing import margin_label_smoothing


def mbls(
    facts: DataFacts,
    *,
    margin: float = 10.0,
    alpha: float = 0.1,
    parts: Sequence[Part] = EVERYWHERE,
) -> Calibrator:
    """Cross-entropy plus the penalty on far logits, on the given parts."""
    within("mbls", locals(), {"margin": NOT_NEGATIVE, "alpha": NOT_NEGATIVE})
    criterion = partial(margin_label_smoothing, margin=margin, alpha=alpha)
    return Calibrator(criteria=dict.fromkeys(parts, criterion))
