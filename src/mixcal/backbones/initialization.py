"""How weights begin.

- "torch": torch's own defaults, uniform in ± 1 / √(fan in);
- "he": N(0, 2 / fan) for convolutions (He et al., ICCV 2015; arXiv:1502.01852v1), with the fan out
  unless a network says otherwise; linear layers keep torch's default;
- "glorot": U(± √2 √(6 / (fan in + fan out))) for convolutions, biases 0 (Glorot & Bengio, AISTATS
  2010, with the gain of a ReLU); linear layers keep torch's default.

Batch norms begin as the identity in all of them.
"""

from collections.abc import Iterator
from typing import Literal

from torch import nn
from torch.nn import init

Initialization = Literal["torch", "he", "glorot"]


def initialize(
    network: nn.Module, kind: Initialization, fan: Literal["fan_out", "fan_in"] = "fan_out"
) -> None:
    """Begin the convolutions of a network anew."""
    if kind == "torch":
        return
    for layer in convolutions(network):
        if kind == "he":
            init.kaiming_normal_(layer.weight, mode=fan, nonlinearity="relu")
        else:
            init.xavier_uniform_(layer.weight, gain=init.calculate_gain("relu"))
        if layer.bias is not None:
            init.zeros_(layer.bias)


def convolutions(network: nn.Module) -> Iterator[nn.Conv2d]:
    """All its convolutions, in order."""
    return (module for module in network.modules() if isinstance(module, nn.Conv2d))
