"""Samples on which two models differ most in confidence, with what each of them says.

After Figure 2 of CalibrateMix (arXiv version 1): a sample that one model gets wrong with near
certainty while the other hesitates, or gets it right.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from mixcal.judging.comparison.contenders import Contender
from mixcal.judging.report.galleries import Exhibit, Look, Sheet, pictures_at
from mixcal.judging.samples import Samples

SHOWN = 12


def disagreement_sheets(
    baseline: Contender, other: Contender, look: Look | None = None
) -> list[Sheet]:
    """Where the confidences lie furthest apart, and where either is the surer of a mistake.

    Both are paired; `look` finds pictures by position in the baseline's order.
    """
    ours, theirs = (Samples.of(one.judged.predictions) for one in (baseline, other))
    apart = ours.confidence.astype(np.float64) - theirs.confidence
    # How much surer of a mistake: a right answer claims nothing wrong.
    blame = [np.where(one.right, 0.0, one.confidence) for one in (ours, theirs)]
    excess = blame[0] - blame[1]
    found = [
        (
            "Furthest apart",
            "The confidences differ most, whoever is right.",
            largest(np.abs(apart)),
        ),
        (
            f"{baseline.name} is surer of a mistake",
            f"{baseline.name} is wrong; {other.name} is wrong with less confidence, or right.",
            largest(excess),
        ),
        (
            f"{other.name} is surer of a mistake",
            f"{other.name} is wrong; {baseline.name} is wrong with less confidence, or right.",
            largest(-excess),
        ),
    ]
    return [
        Sheet(title=title, note=note, exhibits=_exhibits(index, baseline, other, look))
        for title, note, index in found
        if len(index)
    ]


def largest(values: Float[np.ndarray, " n"], count: int = SHOWN) -> Int[np.ndarray, " _"]:
    """Positions of the largest positive values, largest first."""
    order = np.argsort(-values, kind="stable")[:count]
    return order[values[order] > 0]


def _exhibits(
    index: Int[np.ndarray, " m"], baseline: Contender, other: Contender, look: Look | None
) -> tuple[Exhibit, ...]:
    predictions = baseline.judged.predictions
    said = [_said(index, one) for one in (baseline, other)]
    return tuple(
        Exhibit(
            name=str(predictions.ids[i]),
            picture=picture,
            lines=(f"is {predictions.classes[predictions.labels[i]]}", first, second),
        )
        for i, picture, first, second in zip(index, pictures_at(index, look), *said, strict=True)
    )


def _said(index: Int[np.ndarray, " m"], one: Contender) -> Sequence[str]:
    predictions = one.judged.predictions.take(index)
    samples = Samples.of(predictions)
    return [
        f"{one.name}: {predictions.classes[said]} at {100 * confidence:.1f}\u00a0% "
        f"{'✓' if right else '✗'}"
        for said, confidence, right in zip(
            predictions.scores.argmax(1), samples.confidence, samples.right, strict=True
        )
    ]
