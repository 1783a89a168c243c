"""Weight averaging: parameters are averaged over the steps, buffers are those of the network."""

import copy

import torch
from torch import Tensor, nn


class Average:
    """An exponential moving average of the parameters, started at their initial values.

    Batch-norm statistics and other buffers are copied, not averaged; they are fetched when the
    averaged network is asked for, which is the same as copying them after every step.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.decay = decay
        self.network = copy.deepcopy(network)
        self.network.requires_grad_(False)
        self._pairs = [
            (ours, theirs)
            for ours, theirs in zip(self.network.parameters(), network.parameters(), strict=True)
            if theirs.requires_grad
        ]

    @torch.no_grad()
    def update(self) -> None:
        """Take in the parameters after a step."""
        ours, theirs = (list(side) for side in zip(*self._pairs, strict=True))
        torch._foreach_lerp_(ours, theirs, 1 - self.decay)

    @torch.no_grad()
    def current(self, network: nn.Module) -> nn.Module:
        """The averaged network with the buffers of the live one."""
        buffers = dict(network.named_buffers())
        for name, buffer in self.network.named_buffers():
            buffer.copy_(buffers[name])
        return self.network

    def parameters(self) -> dict[str, Tensor]:
        """The averaged parameters by name."""
        return dict(self.network.named_parameters())
