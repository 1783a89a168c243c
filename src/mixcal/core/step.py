"""One step on its way: the batch, what was mixed, what the network answered."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mixcal.core.activations import Activations, Between
from mixcal.core.errors import BadInput
from mixcal.core.rows import Batch, Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Pseudo:
    """Pseudo-labels of the unlabeled rows of one step, made from their weak views."""

    targets: Float[Tensor, "n k"]
    labels: Int[Tensor, " n"]
    weights: Float[Tensor, " n"]
    probs: Float[Tensor, "n k"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """Rows made out of pairs of rows.

    `rows.inputs` are w·first + (1 − w)·second with w = `image_weight`; their targets use
    `target_weight`. Mixing in a hidden layer leaves the first members in `rows.inputs` and says the
    rest in `between`. `loss_weight` is each row's weight in the criterion; None: only terms read
    these rows. `labeled_weight` is what the labeled rows' own loss weighs beside them. `readings`
    are scalars for the log.
    """

    rows: Rows
    first: Rows
    second: Rows
    image_weight: Float[Tensor, " n"]
    target_weight: Float[Tensor, " n"]
    loss_weight: Float[Tensor, " n"] | None
    between: Between | None = None
    labeled_weight: float = 1.0
    readings: Mapping[str, Float[Tensor, ""]] = field(default_factory=dict)


class Passes:
    """Sends rows through the network, the only way to do so within a step, and counts what it sent.

    All rows of one call share a batch-norm batch. Every training-mode pass updates the running
    statistics unless `statistics=False`.
    """

    def __init__(
        self,
        network: nn.Module,
        *,
        autocast: torch.dtype | None = None,
        averaged: nn.Module | None = None,
    ) -> None:
        self.network = network
        self.autocast = autocast
        self._averaged = averaged
        self.count = 0
        self.images = 0

    def __call__(
        self,
        *rows: Rows,
        grad: bool = True,
        statistics: bool = True,
        between: Between | None = None,
    ) -> dict[str, Activations]:
        """The activations of each part; parts must be different, a part given twice is an error."""
        sizes = {part.part: len(part) for part in rows}
        if len(sizes) != len(rows):
            raise ValueError("two groups of rows in one pass carry the same part name")
        inputs = rows[0].inputs if len(rows) == 1 else torch.cat([part.inputs for part in rows])
        with ExitStack() as stack:
            if not grad:
                stack.enter_context(torch.no_grad())
            if not statistics:
                stack.enter_context(still_statistics(self.network))
            if self.autocast is not None:
                stack.enter_context(torch.autocast(inputs.device.type, dtype=self.autocast))
            if between is None:
                answer = self.network(inputs)
            else:
                answer = self.network(inputs, between=_confined(between, sizes))
        self.count += 1
        self.images += inputs.shape[0]
        logits = answer.logits.float().split(tuple(sizes.values()))
        features = answer.features.float().split(tuple(sizes.values()))
        return {
            part: Activations(*pair)
            for part, pair in zip(sizes, zip(logits, features, strict=True), strict=True)
        }

    def averaged(self, *rows: Rows) -> dict[str, Activations]:
        """What the averaged network answers, in evaluation mode and without gradient."""
        if self._averaged is None:
            raise BadInput("This run averages no weights; set method.averaging_decay.")
        live = dict(self.network.named_buffers())
        with torch.no_grad():
            for name, buffer in self._averaged.named_buffers():
                buffer.copy_(live[name])
        other = Passes(self._averaged.eval(), autocast=self.autocast)
        return other(*rows, grad=False)


def _confined(between: Between, sizes: Mapping[str, int]) -> Between:
    """The same change, kept to the rows of its part when other parts share the pass."""
    if len(sizes) == 1:
        return between
    names = list(sizes)
    place = names.index(between.part)
    start = sum(sizes[name] for name in names[:place])
    stop = start + sizes[between.part]

    def blend(hidden: Tensor) -> Tensor:
        return torch.cat([hidden[:start], between.blend(hidden[start:stop]), hidden[stop:]])

    return replace(between, blend=blend)


@contextmanager
def still_statistics(network: nn.Module) -> Iterator[None]:
    """Within it, batch norms use their batch's statistics and leave the running ones alone."""
    norms = [
        module
        for module in network.modules()
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.track_running_stats
    ]
    for norm in norms:
        norm.track_running_stats = False
    try:
        yield
    finally:
        for norm in norms:
            norm.track_running_stats = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutput:
    """Everything a mixer or a term may look at; `forward` is the only way to run a further pass."""

    batch: Batch
    forward: Passes
    activations: Mapping[str, Activations] = field(default_factory=dict)
    pseudo: Pseudo | None = None
    mixed: Mixed | None = None

    def run(self, *rows: Rows, grad: bool = True, between: Between | None = None) -> "StepOutput":
        """A step that also knows the activations of these rows."""
        found = self.forward(*rows, grad=grad, between=between)
        return replace(self, activations={**self.activations, **found})
