"""Deep ensembles (Lakshminarayanan, Pritzel and Blundell, NeurIPS 2017; arXiv:1612.01474v3).

    p = (1/M) Σ_m softmax(z_m)

Differs from the paper: the members are not trained on adversarial examples.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions, softmax


def ensembled(members: Sequence[Predictions]) -> Predictions:
    """The mean of the members' probabilities, which are kept as `members`."""
    first = members[0]
    for other in members[1:]:
        check_alike(first, other)
    probs = np.stack([probabilities(each) for each in members])
    return replace(
        first,
        scores=probs.mean(0).astype(np.float32),
        kind="probs",
        members=probs.astype(np.float32),
        # Each member has features of its own.
        features=None,
        notes={"way": f"ensemble-{len(members)}"},
    )


def probabilities(predictions: Predictions) -> np.ndarray:
    """In double precision, whatever the scores are."""
    wide = predictions.scores.astype(np.float64)
    return softmax(wide) if predictions.kind == "logits" else wide


def check_alike(first: Predictions, other: Predictions) -> None:
    """Refuse members that saw other classes, or other samples in another order."""
    for what, ours, theirs in (
        ("classes", first.classes, other.classes),
        ("splits", first.split, other.split),
        ("samples", first.ids.tolist(), other.ids.tolist()),
        ("labels", first.labels.tolist(), other.labels.tolist()),
    ):
        if ours != theirs:
            raise BadInput(
                f"The members' {what} differ; an ensemble is made of predictions on the same "
                "samples in the same order, with the same classes."
            )
