"""Where a penalty on a whole batch looks when rows are mixed.

    "x1x2"        at both rows of each pair, unmixed: two further passes, each a batch of its own
    "xtilde"      at the mixed rows
    "plain"       at the labeled rows, unmixed
    "validation"  at rows of the validation split, in a pass of their own

Where labeled rows go through the network as they are (nothing is mixed at this step, or the mixed
rows go beside them), the first three are these rows, with no further pass: mixes with
pseudo-labeled rows have no truth that a confidence could be compared with.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor

from mixcal.core.errors import BadInput
from mixcal.core.protocols import Calibrator
from mixcal.core.rows import Rows
from mixcal.core.step import Mixed, StepOutput

Placement = Literal["x1x2", "xtilde", "plain", "validation"]

VALIDATION = "validation"


@dataclass(frozen=True, slots=True)
class Side:
    """One batch a penalty looks at: logits, targets, and the mix if they are of mixed rows."""

    logits: Float[Tensor, "n k"]
    targets: Float[Tensor, "n k"]
    mixed: Mixed | None = None


def sides(step: StepOutput, placement: Placement, *, joint_forward: bool = False) -> list[Side]:
    """The batches to look at; `joint_forward`: both rows of the pairs share one pass."""
    if placement == "validation":
        return [_passed(step, step.batch.extra[VALIDATION])]
    found = step.activations.get("labeled")
    if found is not None:
        return [Side(found.logits, step.batch.labeled.targets)]
    mixed = step.mixed
    assert mixed is not None
    if placement == "plain":
        return [_passed(step, step.batch.labeled)]
    if placement == "xtilde":
        logits = step.activations[mixed.rows.part].logits
        return [Side(logits, mixed.rows.targets, mixed)]
    if joint_forward:
        both = step.forward(mixed.first, mixed.second)
        return [Side(both[rows.part].logits, rows.targets) for rows in (mixed.first, mixed.second)]
    return [_passed(step, mixed.first), _passed(step, mixed.second)]


def _passed(step: StepOutput, rows: Rows) -> Side:
    return Side(step.forward(rows)[rows.part].logits, rows.targets)


def streams_of(placement: Placement) -> frozenset[str]:
    """The further rows a placement needs."""
    return frozenset({VALIDATION}) if placement == "validation" else frozenset()


def needs_mixed_rows(placement: Placement) -> tuple[Callable[[Calibrator], None], ...]:
    """Refuse "xtilde" without a mixer whose rows take the labeled ones' place."""

    def condition(whole: Calibrator) -> None:
        if whole.mixer is None or whole.mixer.joins != "instead":
            raise BadInput(
                'placement = "xtilde" looks at mixed rows in the labeled ones\' place, and there '
                'are none; add mixup, or set placement = "plain".'
            )

    return (condition,) if placement == "xtilde" else ()
