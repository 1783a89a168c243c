"""Watching for losses that are not finite, without asking the device at every step."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from mixcal.core.errors import BadInput

NEVER = 2**62
REMEDY = (
    "lower method.optimizer.learning_rate, set method.optimizer.clip_norm, or try "
    'method.precision = "float32". No checkpoint was written since.'
)


class NonFinite(BadInput):
    """A loss became NaN or infinite; training cannot go on."""


class FiniteWatch:
    """Remembers, on the device, the first step at which each loss was not finite."""

    def __init__(self) -> None:
        self._first: dict[str, Tensor] = {}

    @torch.no_grad()
    def look(self, losses: Mapping[str, Tensor], step: int) -> None:
        """Take note of one step's losses."""
        for name, loss in losses.items():
            if name not in self._first:
                self._first[name] = torch.full((), NEVER, device=loss.device)
            now = torch.where(torch.isfinite(loss), NEVER, step)
            torch.minimum(self._first[name], now, out=self._first[name])

    def check(self) -> None:
        """Stop with the step and the loss's name if any was not finite so far."""
        found = {name: int(first) for name, first in self._first.items() if int(first) < NEVER}
        if found:
            name = min(found, key=lambda key: found[key])
            raise NonFinite(f"The loss {name!r} was not finite at step {found[name]}; {REMEDY}")

    def check_weights(self, network: nn.Module, step: int) -> None:
        """Stop if the network holds a number that is not finite; asks the device once."""
        state = network.state_dict().values()
        finite = [tensor.isfinite().all() for tensor in state if tensor.is_floating_point()]
        if not bool(torch.stack(finite).all()):
            raise NonFinite(f"The weights are not finite after step {step}; {REMEDY}")
