"""Rows of data on their way into a network, and the batch of one step."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Network inputs with their target distributions.

    `index` is the row's position in its split, stable for the whole run; `part` says what the rows
    are ("labeled", "weak", "strong", "mixed" …). A row of zeros in `targets` means: none known.
    """

    inputs: Shaped[Tensor, "n ..."]
    targets: Float[Tensor, "n k"]
    index: Int[Tensor, " n"]
    part: str

    def __len__(self) -> int:
        return self.index.shape[0]

    def take(self, order: Int[Tensor, " m"], *, part: str | None = None) -> "Rows":
        """The rows at these positions, under another part name if one is given."""
        return Rows(
            inputs=self.inputs.index_select(0, order),
            targets=self.targets.index_select(0, order),
            index=self.index.index_select(0, order),
            part=self.part if part is None else part,
        )


def join(first: Rows, second: Rows, *, part: str) -> Rows:
    """Both, one after the other, as one part."""
    return Rows(
        inputs=torch.cat([first.inputs, second.inputs]),
        targets=torch.cat([first.targets, second.targets]),
        index=torch.cat([first.index, second.index]),
        part=part,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Views:
    """The two views of the unlabeled images of one step; row i of both is the same image.

    `hidden_labels` holds the true labels where somebody knows them and -1 elsewhere. They are for
    readings (how pure are the pseudo-labels?) and never for a loss.
    """

    weak: Rows
    strong: Rows
    hidden_labels: Int[Tensor, " n"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one step trains on; `extra` holds further streams ("validation", "synthetic")."""

    labeled: Rows
    unlabeled: Views | None = None
    extra: Mapping[str, Rows] = field(default_factory=dict)
