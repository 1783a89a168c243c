"""Where a network lets a method into its middle, and what it answers at its end."""

from collections.abc import Sequence

from torch import Tensor, nn

from mixcal.core.activations import Activations, Between
from mixcal.core.errors import BadInput


def entered(between: Between | None, stages: Sequence[str], inputs: Tensor) -> Tensor:
    """The inputs, changed if `between` acts on them; a stage the network lacks is an error."""
    if between is not None and between.stage not in stages:
        raise BadInput(
            f"This network has no stage {between.stage!r} to mix in; take one of "
            f"{', '.join(stages)}."
        )
    return reached(between, "input", inputs)


def reached(between: Between | None, stage: str, hidden: Tensor) -> Tensor:
    """The hidden activations, changed if this is the stage that `between` names."""
    if between is None or between.stage != stage:
        return hidden
    return between.blend(hidden)


def answered(head: nn.Module, features: Tensor) -> Activations:
    """Features and their logits, float32 whatever the autocast."""
    return Activations(head(features).float(), features.float())
