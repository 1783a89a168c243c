"""All numbers about one set of predictions, each with its interval: what `mixcal judge` prints."""

from dataclasses import asdict, replace
from typing import Any

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions
from mixcal.judging.estimates import INTERVALS, Estimates
from mixcal.judging.metrics.conventions import convention
from mixcal.judging.metrics.partition import Closed
from mixcal.judging.metrics.reliability_intervals import null_band
from mixcal.judging.samples import Samples

MOST_BINS = 10_000


def summarized(
    predictions: Predictions,
    *,
    bins: int | None = None,
    level: float = 0.95,
    closed: Closed | None = None,
    like: str = "mixcal",
) -> dict[str, Any]:
    """n, classes, bins and every metric as value, low and high; JSON as it stands.

    `like` names a package or paper whose conventions to follow; `closed` overrides its bins' ends,
    and `bins` their number (15 unless the convention says otherwise).

    An infinite log loss stays infinite, and the AUROC of a model that is always right (or never)
    is NaN between 0 and 1. The null band is the ECE a calibrated model of this size would show.
    """
    rules = convention(like)
    bins = rules.bins if bins is None else bins
    if not 1 <= bins <= MOST_BINS:
        raise BadInput(f"{bins} bins were asked for; give 1 to {MOST_BINS}.")
    if closed is not None:
        rules = replace(rules, closed=closed)
    made = Estimates(
        predictions=predictions,
        samples=Samples.of(predictions),
        like=rules,
        bins=bins,
        level=level,
    )
    return {
        "n": len(predictions),
        "classes": predictions.scores.shape[1],
        "bins": bins,
        "closed": rules.closed,
        "like": rules.name,
        "level": level,
        "metrics": {name: asdict(estimate) for name, estimate in made.made().items()},
        "intervals": dict(INTERVALS),
        "null_band": asdict(null_band(made.sums, level=level)),
    }
