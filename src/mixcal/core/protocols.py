"""What a method is made of: algorithms, calibrators, and the objective that runs them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from mixcal.core.clock import Clock
from mixcal.core.errors import BadInput
from mixcal.core.outcome import Outcome
from mixcal.core.predictions import Predictions
from mixcal.core.rows import Batch
from mixcal.core.step import Mixed, StepOutput

Criterion = Callable[[Float[Tensor, "n k"], Float[Tensor, "n k"]], Float[Tensor, " n"]]
"""Logits and target distributions to one loss per sample."""

Part = Literal["labeled", "unlabeled", "mixed"]
"""The three losses a criterion can stand in."""

EVERYWHERE: tuple[Part, ...] = ("labeled", "unlabeled", "mixed")

Joins = Literal["instead", "beside", "with_strong", "after", "again"]
"""How mixed rows meet the network: in place of the labeled rows; beside them in their pass;
likewise but made from the weak rows' logits, which are known before; in a pass of their own once
the step's logits are known; or in a second pass over everything, so that each base loss counts
twice."""


@runtime_checkable
class Weigh(Protocol):
    """How much each unlabeled row counts, in [0, 1], from its weak logits."""

    def __call__(
        self, logits: Float[Tensor, "n k"], index: Int[Tensor, " n"]
    ) -> Float[Tensor, " n"]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm:
    """A semi-supervised method: pseudo-labels, their weights, and the weight of their loss.

    `follow_labeled` is shown the labeled rows' logits after each pass they were in.
    """

    pseudo_label: Callable[[Float[Tensor, "n k"]], Float[Tensor, "n k"]]
    weigh: Weigh
    unlabeled_weight: float = 1.0
    follow_labeled: Callable[[Float[Tensor, "n k"]], None] | None = None


@runtime_checkable
class Ledger(Protocol):
    """What a run remembers of its samples' margins, for the margins file at its end."""

    def summary(self) -> tuple[Int[Tensor, " n"], Float[Tensor, " n"], Int[Tensor, " n"]]:
        """Label, margin at that label and number of visits of every sample; on the host."""
        ...

    def check(self) -> None:
        """Refuse to go on if what is remembered has become too imprecise."""
        ...


@runtime_checkable
class Store(Protocol):
    """A memory outside the state dict: it goes back to a checkpoint by itself."""

    def mark(self, step: int) -> None:
        """A checkpoint of this step is about to be written."""
        ...

    def forget(self, oldest: int) -> None:
        """Checkpoints before this step will not be asked for any more."""
        ...

    def rewind(self, step: int) -> None:
        """Be as at the checkpoint of this step; 0 is the beginning."""
        ...


@runtime_checkable
class Mixer(Protocol):
    """Makes mixed rows out of a step; None while it has nothing to add (warm-up)."""

    @property
    def joins(self) -> Joins: ...

    def __call__(self, step: StepOutput, clock: Clock) -> Mixed | None: ...


@runtime_checkable
class Term(Protocol):
    """A further loss or reading of a step."""

    def __call__(self, step: StepOutput, clock: Clock) -> Outcome: ...


@runtime_checkable
class Supply(Protocol):
    """Images of a calibrator's own: `copies` of them go with every labeled row of a step."""

    @property
    def copies(self) -> int: ...

    def __len__(self) -> int: ...

    def draw(
        self, labels: Int[np.ndarray, " n"], generator: np.random.Generator
    ) -> Int[np.ndarray, " m"]:
        """Positions to go with these labels, the copies of one label one after the other."""
        ...

    def take(self, index: Int[np.ndarray, " m"]) -> Shaped[Tensor, "m ..."]:
        """The raw images at these positions."""
        ...

    def targets(self, index: Int[np.ndarray, " m"]) -> Float[Tensor, "m k"]:
        """Their target distributions."""
        ...

    def prefetch(self, index: Int[np.ndarray, " m"]) -> None:
        """These positions will be taken soon."""
        ...


Review = Callable[[Predictions, Clock], None]
"""Looks at the validation predictions at the end of each epoch; may change the method's memory."""

Check = Callable[[], None]
"""Called when the log is written, and the device may be asked; raises to stop the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrator:
    """A record of a few changes to training, each neutral by default.

    `streams` names the extra rows the calibrator wants in `Batch.extra`, `supplies` those it brings
    itself; those in `beside` go through the network with the labeled rows. `ledgers` is what it
    remembers of the samples of each split; `reads_average` asks for the averaged network;
    `remarks` are kept with the run. `scheduled` makes the criteria that change over a run.
    `conditions` look at all calibrators of a run as one, and raise where they do not go together.
    """

    criteria: Mapping[Part, Criterion] = field(default_factory=dict)
    scheduled: Mapping[Part, Callable[[Clock], Criterion]] = field(default_factory=dict)
    mixer: Mixer | None = None
    terms: Mapping[str, Term] = field(default_factory=dict)
    reviews: tuple[Review, ...] = ()
    streams: frozenset[str] = frozenset()
    supplies: Mapping[str, Supply] = field(default_factory=dict)
    beside: frozenset[str] = frozenset()
    ledgers: Mapping[str, Ledger] = field(default_factory=dict)
    reads_average: bool = False
    remarks: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    conditions: tuple[Callable[["Calibrator"], None], ...] = ()

    def criteria_at(self, clock: Clock) -> Mapping[Part, Criterion]:
        """The criteria of one step."""
        return {**self.criteria, **{part: make(clock) for part, make in self.scheduled.items()}}


def combine(calibrators: Sequence[Calibrator]) -> Calibrator:
    """All of them at once: one criterion for each part, at most one mixer, any number of terms."""
    criteria: dict[Part, Criterion] = {}
    scheduled: dict[Part, Callable[[Clock], Criterion]] = {}
    terms: dict[str, Term] = {}
    supplies: dict[str, Supply] = {}
    ledgers: dict[str, Ledger] = {}
    mixers = [calibrator.mixer for calibrator in calibrators if calibrator.mixer is not None]
    if len(mixers) > 1:
        raise BadInput("Two calibrators both mix rows; keep one of them in `calibrators`.")
    for calibrator in calibrators:
        for part in (*calibrator.criteria, *calibrator.scheduled):
            if part in criteria or part in scheduled:
                raise BadInput(
                    f"Two calibrators both set the criterion of the {part} rows; "
                    "limit one of them with its `parts` knob or drop it."
                )
        criteria.update(calibrator.criteria)
        scheduled.update(calibrator.scheduled)
        if twice := set(terms) & set(calibrator.terms):
            raise BadInput(f"Two calibrators both add the term {sorted(twice)[0]}; keep one.")
        terms.update(calibrator.terms)
        if twice := set(supplies) & set(calibrator.supplies):
            raise BadInput(f"Two calibrators both bring {sorted(twice)[0]} rows; keep one.")
        supplies.update(calibrator.supplies)
        if twice := set(ledgers) & set(calibrator.ledgers):
            raise BadInput(
                f"Two calibrators both remember the margins of {sorted(twice)[0]} samples; keep "
                'one (calibratemix remembers all that "margins" does).'
            )
        ledgers.update(calibrator.ledgers)
    whole = Calibrator(
        criteria=criteria,
        scheduled=scheduled,
        mixer=mixers[0] if mixers else None,
        terms=terms,
        reviews=tuple(review for calibrator in calibrators for review in calibrator.reviews),
        streams=frozenset().union(*(calibrator.streams for calibrator in calibrators)),
        supplies=supplies,
        beside=frozenset().union(*(calibrator.beside for calibrator in calibrators)),
        ledgers=ledgers,
        reads_average=any(calibrator.reads_average for calibrator in calibrators),
        remarks=tuple(remark for calibrator in calibrators for remark in calibrator.remarks),
        checks=tuple(check for calibrator in calibrators for check in calibrator.checks),
    )
    for calibrator in calibrators:
        for condition in calibrator.conditions:
            condition(whole)
    return whole


@runtime_checkable
class Objective(Protocol):
    """The network and a batch to an outcome; it makes whatever passes it needs.

    One `state_dict` holds all that its algorithm and calibrators remember.
    """

    calibrator: Calibrator

    def __call__(self, network: nn.Module, batch: Batch, clock: Clock) -> Outcome: ...

    def review(self, predictions: Predictions, clock: Clock) -> None: ...

    def to(self, device: torch.device) -> object: ...

    def modules(self) -> Iterator[nn.Module]: ...

    def state_dict(self) -> dict[str, Tensor]: ...

    def load_state_dict(self, state_dict: Mapping[str, Tensor]) -> object: ...
