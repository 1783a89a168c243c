"""Pairs of rows, and the rows made of them: what mixup and its relatives share.

    x̃ = w x_first + (1 − w) x_second,   ỹ = v y_first + (1 − v) y_second

w is the image weight and v the target weight; most methods take v = w. Words cannot be blended, so
a text is mixed after the lookup of its embeddings.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from mixcal.core.activations import Between
from mixcal.core.clock import Clock
from mixcal.core.errors import BadInput
from mixcal.core.facts import DataFacts
from mixcal.core.protocols import Joins
from mixcal.core.rows import Rows
from mixcal.core.step import Mixed, StepOutput
from mixcal.methods.mixing.coefficients import mixing_weights

Pairing = Literal["permute", "two_loaders"]
Weights = tuple[Float[Tensor, " n"], Float[Tensor, " n"]]

INPUT = "input"
WORDS = "embedding"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """First and second members; `order` says where among the first the second ones stand, if they
    stand there."""

    first: Rows
    second: Rows
    order: Int[Tensor, " n"] | None


def permuted(step: StepOutput, clock: Clock) -> Pairs:
    """Every labeled row with another one of the same batch, by one permutation."""
    rows = step.batch.labeled
    order = torch.randperm(len(rows), generator=clock.generator)
    return reordered(rows, order.to(rows.index.device, non_blocking=True))


def reordered(rows: Rows, order: Int[Tensor, " n"]) -> Pairs:
    """Row i with row order[i]."""
    return Pairs(first=rows, second=rows.take(order, part="second"), order=order)


def from_second_loader(step: StepOutput, clock: Clock) -> Pairs:
    """Every labeled row with one of a second stream over the same data."""
    rows, others = step.batch.labeled, step.batch.extra["partner"]
    return Pairs(first=rows, second=others, order=None)


PARTNERS: dict[Pairing, Callable[[StepOutput, Clock], Pairs]] = {
    "permute": permuted,
    "two_loaders": from_second_loader,
}
STREAMS: dict[Pairing, frozenset[str]] = {
    "permute": frozenset(),
    "two_loaders": frozenset({"partner"}),
}


def along_rows(
    weight: Float[Tensor, " n"], like: Shaped[Tensor, "n ..."]
) -> Shaped[Tensor, "n ..."]:
    """One number a row, in a shape that multiplies these rows."""
    return weight.to(like.dtype).view(-1, *(1,) * (like.ndim - 1))


def lerped(
    first: Shaped[Tensor, "n ..."], second: Shaped[Tensor, "n ..."], weight: Float[Tensor, " n"]
) -> Shaped[Tensor, "n ..."]:
    """w first + (1 − w) second."""
    return torch.lerp(second, first, along_rows(weight, first))


def mixed_pairs(
    pairs: Pairs,
    image_weight: Float[Tensor, " n"],
    target_weight: Float[Tensor, " n"],
    *,
    stage: str = INPUT,
    loss_weight: float | None = 1.0,
    labeled_weight: float = 1.0,
) -> Mixed:
    """The pairs blended, in the inputs or after a stage of the network."""
    first, second = pairs.first, pairs.second
    inputs, between = first.inputs, None
    if stage == INPUT:
        inputs = lerped(first.inputs, second.inputs, image_weight)
    else:
        between = Between(stage, _blend_after(pairs.order, image_weight))
    rows = Rows(
        inputs=inputs,
        targets=lerped(first.targets, second.targets, target_weight),
        index=first.index,
        part="mixed",
    )
    each = None if loss_weight is None else torch.full_like(image_weight, loss_weight)
    return Mixed(
        rows=rows,
        first=first,
        second=second,
        image_weight=image_weight,
        target_weight=target_weight,
        loss_weight=each,
        between=between,
        labeled_weight=labeled_weight,
    )


def _blend_after(
    order: Int[Tensor, " n"] | None, weight: Float[Tensor, " n"]
) -> Callable[[Tensor], Tensor]:
    assert order is not None, "hidden activations are mixed within one batch"

    def blend(hidden: Tensor) -> Tensor:
        return lerped(hidden, hidden.index_select(0, order), weight)

    return blend


def first_stage(facts: DataFacts, pairing: Pairing = "permute") -> str:
    """Where the data of a run can be blended first."""
    if facts.input_kind == "image":
        return INPUT
    if pairing == "two_loaders":
        raise BadInput('Texts are mixed after the lookup of their words; take pairing = "permute".')
    return WORDS


def images_only(facts: DataFacts, name: str) -> None:
    """Refuse data that are no images."""
    if facts.input_kind != "image":
        raise BadInput(f"{name} works on pixels, and texts have none; take mixup.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PairMixer:
    """A mixer out of two functions: who meets whom, and how much each one weighs."""

    partners: Callable[[StepOutput, Clock], Pairs]
    weigh: Callable[[Pairs, torch.Generator], Weights]
    stage: str = INPUT
    joins: Joins = "instead"
    loss_weight: float = 1.0
    labeled_weight: float = 1.0

    def __call__(self, step: StepOutput, clock: Clock) -> Mixed | None:
        pairs = self.partners(step, clock)
        return mixed_pairs(
            pairs,
            *self.weigh(pairs, clock.generator),
            stage=self.stage,
            loss_weight=self.loss_weight,
            labeled_weight=self.labeled_weight,
        )


def equal_weights(
    alpha: float, draw: Literal["batch", "sample"]
) -> Callable[[Pairs, torch.Generator], Weights]:
    """λ ~ Beta(α, α) for images and targets alike."""

    def weigh(pairs: Pairs, generator: torch.Generator) -> Weights:
        weight = mixing_weights(alpha, pairs.first.targets, draw=draw, generator=generator)
        return weight, weight

    return weigh
