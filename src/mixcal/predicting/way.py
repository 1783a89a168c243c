"""A way of predicting: what is made of a network and one batch of raw inputs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Shaped
from torch import Tensor, nn

from mixcal.core.predictions import Kind


@dataclass(frozen=True, slots=True)
class Answer:
    """Scores and features of one batch; `members`: the probabilities that were averaged."""

    scores: Float[Tensor, "n k"]
    features: Float[Tensor, "n d"]
    members: Float[Tensor, "m n k"] | None = None


@runtime_checkable
class Way(Protocol):
    """Raw inputs to scores of one `kind`; what it draws at random belongs to the sample."""

    @property
    def name(self) -> str:
        """As files and tables call it."""
        ...

    @property
    def kind(self) -> Kind:
        """What the scores are."""
        ...

    def __call__(
        self,
        network: nn.Module,
        raw: Shaped[Tensor, "n ..."],
        seen: Callable[[Tensor], Tensor],
    ) -> Answer:
        """`network` is in evaluation mode; `seen` turns raw inputs into what it takes."""
        ...
