"""An embedding of classes that also takes a distribution over them."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class SoftEmbedding(nn.Module):
    """Rows of a table by number, or mixtures of its rows by a distribution.

    The parameter is named as `nn.Embedding`'s, so that networks trained on numbers load into it. A
    row of zeros gives the zero vector: no condition.
    """

    def __init__(self, classes: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(classes, width))

    def forward(self, condition: Int[Tensor, " n"] | Float[Tensor, "n k"]) -> Float[Tensor, "n d"]:
        if condition.is_floating_point():
            # Half precision would move a mixture away from the mixture of the rows.
            with torch.autocast(condition.device.type, enabled=False):
                return condition.float() @ self.weight.float()
        return self.weight[condition]
