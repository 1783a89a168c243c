"""`mixcal rescale --sets`: sets of classes with a promised coverage, and what they came to."""

import argparse
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Predictions
from mixcal.judging.prediction_sets import PredictionSets, fit_sets

if TYPE_CHECKING:
    from mixcal.commands.rescale import Job


def make_sets(job: "Job", options: argparse.Namespace) -> int:
    """Fit or load, apply, write, show coverage and sizes."""
    from mixcal.commands.rescale import knobs, write_new

    if options.method:
        raise BadInput(
            "--sets and --method do not go together: a rescaler has seen the labels that the sets "
            "are fitted on, and the promised coverage would be gone."
        )
    if job.fit is None:
        made = PredictionSets.load(options.load)
    else:
        asked = {"score": options.sets, "coverage": options.coverage, **knobs(options.settings)}
        made = fit_sets(job.fit, **asked)
    sets = made.sets(job.apply.probs)
    found = described(made, sets, job.apply)

    def write(path: Any) -> None:
        with open(path, "wb") as file:
            np.savez(
                file,
                sets=sets,
                labels=job.apply.labels,
                ids=job.apply.ids,
                classes=np.array(job.apply.classes),
            )

    write_new(job.fitted, made.save, overwrite=options.overwrite)
    # A run's predictions folder holds predictions only.
    out = options.out
    if out is None and options.run is not None and job.fitted is not None:
        out = job.fitted.with_name(f"{job.fitted.stem}-test.npz")
    write_new(out, write, overwrite=options.overwrite)
    print(json.dumps(found) if options.json else _sentences(found, made))
    return 0


def described(
    made: PredictionSets, sets: Bool[np.ndarray, "n k"], predictions: Predictions
) -> dict[str, Any]:
    """Promised and found coverage, sizes."""
    sizes = sets.sum(1)
    return {
        "score": made.score,
        "promised_coverage": made.coverage,
        "fitted_on": made.n,
        "threshold": None if math.isinf(made.threshold) else made.threshold,
        "n": len(predictions),
        "coverage": float(sets[np.arange(len(sets)), predictions.labels].mean()),
        "mean_size": float(sizes.mean()),
        "single_fraction": float((sizes == 1).mean()),
        "sizes": np.bincount(sizes, minlength=sets.shape[1] + 1).tolist(),
    }


def _sentences(found: dict[str, Any], made: PredictionSets) -> str:
    lines = [
        f"{found['score'].upper()} sets, fitted on {found['fitted_on']:,} samples to hold the true "
        f"class in {100 * found['promised_coverage']:g} % of cases:",
        f"  {100 * found['coverage']:.1f} % of {found['n']:,} samples have it in their set; "
        f"{found['mean_size']:.2f} classes a set, {100 * found['single_fraction']:.1f} % of one.",
    ]
    if math.isinf(made.threshold):
        lines.append(
            f"  {made.n} samples cannot promise that much, so every set holds every class; "
            f"at least {math.ceil(made.coverage / (1 - made.coverage) - 1e-9)} are needed."
        )
    return "\n".join(lines)
