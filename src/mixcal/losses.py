"""Every loss as a plain function, for any PyTorch loop: `(logits, targets, **knobs)`.

Targets are integer labels or distributions over the classes. What comes back is one value for each
sample, cross-entropy or what stands in its place included: take the mean. Two are penalties, one
number for the batch, to be added to a loss: `arc` and `mmce`.

    loss = losses.focal(logits, labels, gamma=3).mean()
    loss = losses.cross_entropy(logits, labels).mean() + 0.5 * losses.mmce(logits, labels)
"""

from mixcal.methods.losses.arc import arc
from mixcal.methods.losses.brier import brier
from mixcal.methods.losses.class_adaptive_margin import class_adaptive_margin
from mixcal.methods.losses.correctness_ranking import correctness_ranking
from mixcal.methods.losses.cross_entropy import cross_entropy
from mixcal.methods.losses.dual_focal import dual_focal
from mixcal.methods.losses.entropy_penalty import entropy_penalty
from mixcal.methods.losses.focal import focal, focal_sample_dependent
from mixcal.methods.losses.focal_calibration import focal_calibration
from mixcal.methods.losses.inverse_focal import inverse_focal
from mixcal.methods.losses.jensen_shannon import jensen_shannon
from mixcal.methods.losses.label_smoothing import smoothed_cross_entropy as label_smoothing
from mixcal.methods.losses.margin_label_smoothing import margin_label_smoothing
from mixcal.methods.losses.mmce import mmce
from mixcal.methods.losses.pairwise_constraints import pairwise_constraints
from mixcal.methods.losses.rankmixup import rankmixup
from mixcal.methods.losses.regmixup import regmixup

__all__ = [
    "arc",
    "brier",
    "class_adaptive_margin",
    "correctness_ranking",
    "cross_entropy",
    "dual_focal",
    "entropy_penalty",
    "focal",
    "focal_calibration",
    "focal_sample_dependent",
    "inverse_focal",
    "jensen_shannon",
    "label_smoothing",
    "margin_label_smoothing",
    "mmce",
    "pairwise_constraints",
    "rankmixup",
    "regmixup",
]
