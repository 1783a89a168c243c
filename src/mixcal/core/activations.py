"""What a network answers, and how to reach into its middle."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Activations:
    """Logits and the features they are a linear map of; float32 whatever the autocast."""

    logits: Float[Tensor, "n k"]
    features: Float[Tensor, "n d"]

    def detach(self) -> "Activations":
        """The same numbers without a graph."""
        return Activations(self.logits.detach(), self.features.detach())


@dataclass(frozen=True, slots=True)
class Between:
    """A change of the hidden activations after one named stage of a backbone.

    Used for mixing in a hidden layer: `blend` gets the stage's output for the rows of the pass
    that belong to `part` and returns a tensor of the same shape.
    """

    stage: str
    blend: Callable[[Tensor], Tensor]
    part: str = "mixed"


@runtime_checkable
class Backbone(Protocol):
    """Inputs to activations. `stages` names, in order, the places where `between` may act.

    A backbone also has a submodule `head`, the linear map from features to logits. It is not
    declared here: from Python 3.12 on, `isinstance` does not see what a module has registered.
    """

    stages: tuple[str, ...]
    feature_width: int

    def __call__(self, inputs: Tensor, between: Between | None = None) -> Activations: ...
