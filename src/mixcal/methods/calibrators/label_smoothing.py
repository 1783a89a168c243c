"""Label smoothing as a calibrator (Müller, Kornblith & Hinton, NeurIPS 2019; arXiv:1906.02629v3).

    q′ = (1 − ε) q + ε / K                      "uniform"
    q′ = (1 − ε) q + ε / (K − 1) · (1 − q)      "others"

The smoothed cross-entropy stands in for the plain one on the parts named: labeled rows, strong
views of unlabeled rows, mixed rows. Beware of a confidence threshold on top: with ε = 0.1 and ten
classes a perfectly fitted network answers with 0.91, under FixMatch's 0.95; scale the threshold
(`threshold_cap` of the algorithm) or leave "unlabeled" out. "uniform" is as in the paper; "others"
is how Thulasidasan et al. (NeurIPS 2019; arXiv:1905.11001v5) word it.
"""

from collections.abc import Sequence
from functools import partial

from mixcal.core.facts import DataFacts
from mixcal.core.protocols import EVERYWHERE, Calibrator, Part
from mixcal.methods.calibrators.ranges import within
from mixcal.methods.losses.label_smoothing import Mode, smoothed_cross_entropy


def label_smoothing(
    facts: DataFacts,
    *,
    epsilon: float = 0.1,
    mode: Mode = "uniform",
    parts: Sequence[Part] = EVERYWHERE,
) -> Calibrator:
    """Smoothed targets on the given parts."""
    within("label-smoothing", locals(), {"epsilon": (0, 1)})
    criterion = partial(smoothed_cross_entropy, epsilon=epsilon, mode=mode)
    return Calibrator(criteria=dict.fromkeys(parts, criterion))
