"""Bayias: cross-entropy that knows how often each class occurs in training (Xu, Chai & Yuan,
NeurIPS 2021; arXiv:2111.03874v3).

    CE(z + log π_train − log π_test, q),   π_test uniform, π_train as rows are drawn

The second half of UniMix; it stands in for the criterion of labeled and mixed rows, so it combines
with every mixer. It is for training alone: predictions come from the logits as they are. With a
semi-supervised algorithm the unlabeled rows keep their plain loss, since their prior is not known.
As in the paper.
"""

from collections.abc import Sequence
from functools import partial

import torch

from mixcal.core.facts import DataFacts
from mixcal.core.protocols import Calibrator, Part
from mixcal.core.quantities import Size
from mixcal.methods.losses.prior_adjusted import prior_adjusted_cross_entropy

WHERE_THE_PRIOR_IS_KNOWN: tuple[Part, ...] = ("labeled", "mixed")


def bayias(
    facts: DataFacts,
    *,
    strength: Size = 1.0,
    parts: Sequence[Part] = WHERE_THE_PRIOR_IS_KNOWN,
) -> Calibrator:
    """The adjusted cross-entropy on the given parts; strength 0 is the plain one."""
    # As rows are drawn: balanced batches have nothing left to correct.
    prior = torch.tensor(facts.drawn_shares)
    criterion = partial(prior_adjusted_cross_entropy, prior=prior, strength=strength)
    return Calibrator(criteria=dict.fromkeys(parts, criterion))
