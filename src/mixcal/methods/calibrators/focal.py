"""Focal loss for calibration (Lin et al., ICCV 2017, arXiv:1708.02002v2; Mukhoti et al.,
NeurIPS 2020, arXiv:2002.09437v2).

    L = − (1 − p_y)^γ log p_y

    "constant"           γ = 3
    "sample_dependent"   FLSD-53: γ = 5 where p_y < 0.2, else 3
    "scheduled"          FLSc-531: γ = 5, 3, 1 from epochs 0, 100, 250 on

It stands in for cross-entropy on the parts named; for a distribution q it is Σ_k q_k of that. With
a semi-supervised algorithm pseudo-labels count like labels, and fewer of them reach a threshold,
since focal loss makes a network less sure. As in the paper, but for the mean over the batch in
place of its code's sum; the schedule's epochs are those of its runs of 350.
"""

from collections.abc import Sequence
from functools import partial
from typing import Literal

from mixcal.core.clock import Clock
from mixcal.core.errors import BadInput
from mixcal.core.facts import DataFacts
from mixcal.core.protocols import EVERYWHERE, Calibrator, Criterion, Part
from mixcal.methods.calibrators.ranges import NOT_NEGATIVE, within
from mixcal.methods.losses.focal import focal as focal_loss
from mixcal.methods.losses.focal import focal_sample_dependent, scheduled_gamma

Variant = Literal["constant", "sample_dependent", "scheduled"]


def focal(
    facts: DataFacts,
    *,
    variant: Variant = "constant",
    gamma: float = 3.0,
    gamma_low: float = 5.0,
    gammas: Sequence[float] = (5.0, 3.0, 1.0),
    epochs: Sequence[int] = (0, 100, 250),
    parts: Sequence[Part] = EVERYWHERE,
) -> Calibrator:
    """The loss on the given parts; `gamma_low` is for FLSD, `gammas` and `epochs` for FLSc."""
    within(
        "focal",
        locals(),
        {
            "gamma": NOT_NEGATIVE,
            "gamma_low": NOT_NEGATIVE,
            "gammas": NOT_NEGATIVE,
        },
    )
    if variant == "scheduled":
        _check_schedule(gammas, epochs)

        def at(clock: Clock) -> Criterion:
            return partial(focal_loss, gamma=scheduled_gamma(clock.epoch, gammas, epochs))

        return Calibrator(scheduled=dict.fromkeys(parts, at))
    criterion: Criterion = partial(focal_loss, gamma=gamma)
    if variant == "sample_dependent":
        criterion = partial(focal_sample_dependent, gamma_low=gamma_low, gamma=gamma)
    return Calibrator(criteria=dict.fromkeys(parts, criterion))


def _check_schedule(gammas: Sequence[float], epochs: Sequence[int]) -> None:
    if len(gammas) != len(epochs) or list(epochs[:1]) != [0] or sorted(set(epochs)) != list(epochs):
        raise BadInput(
            f"The focal loss's gammas {list(gammas)} begin at epochs {list(epochs)}; "
            "give one rising epoch a gamma, the first one 0."
        )
