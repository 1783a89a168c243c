"""Monte Carlo dropout (Gal and Ghahramani, ICML 2016; arXiv:1506.02142v6, section 4).

    p = (1/S) Σ_s softmax(network with dropout mask s)

Only the dropout layers are switched on; batch norm keeps its running statistics, which
`network.train()` would not. Differs from the usual codes: a mask belongs to its sample, so a
prediction does not depend on what else is in the batch.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Kind
from mixcal.predicting.per_sample import keys_of, uniforms
from mixcal.predicting.way import Answer

PASSES = 10
ELEMENTWISE = (nn.Dropout,)
CHANNELWISE = (nn.Dropout1d, nn.Dropout2d, nn.Dropout3d)
# Passes, layers and calls of a layer within a pass all draw other numbers, up to so many each.
MOST_LAYERS, MOST_CALLS = 1 << 16, 1 << 12


@dataclass(frozen=True, slots=True)
class McDropout:
    """The mean of the probabilities of several passes with dropout, which are kept as members."""

    passes: int = PASSES
    seed: int = 0
    kind: ClassVar[Kind] = "probs"

    def __post_init__(self) -> None:
        if self.passes < 1:
            raise BadInput(f"{self.passes} passes with dropout were asked for; give at least 1.")

    @property
    def name(self) -> str:
        return f"mc-dropout-{self.passes}"

    @torch.no_grad()
    def __call__(
        self,
        network: nn.Module,
        raw: Shaped[Tensor, "n ..."],
        seen: Callable[[Tensor], Tensor],
    ) -> Answer:
        keys, inputs = keys_of(raw, self.seed, "dropout"), seen(raw)
        answers = []
        with drawn_by_sample(network) as layers:
            for turn in range(self.passes):
                for layer in layers:
                    layer.begin(keys, turn)
                answers.append(network(inputs))
        members = torch.stack([answer.logits.double().softmax(1) for answer in answers])
        features = torch.stack([answer.features.float() for answer in answers]).mean(0)
        return Answer(members.mean(0).float(), features, members.float())


class PerSampleDropout(nn.Module):
    """Stands in for a dropout layer: every sample's mask follows from its key."""

    def __init__(self, p: float, place: int, *, channels: bool) -> None:
        super().__init__()
        self.p, self.place, self.channels = p, place, channels
        self.turn, self.calls = 0, 0
        self.keys = torch.zeros(0, dtype=torch.int64)

    def begin(self, keys: Int[Tensor, " n"], turn: int) -> None:
        """A new pass over the samples of these keys."""
        self.keys, self.turn, self.calls = keys, turn, 0

    def forward(self, inputs: Float[Tensor, "m ..."]) -> Float[Tensor, "m ..."]:
        # Windows of attention stand one after the other, those of one sample together.
        rows = len(self.keys)
        if len(inputs) % rows:
            raise BadInput(
                f"A dropout layer got {len(inputs)} rows for {rows} samples, so its masks belong "
                "to no sample; MC dropout cannot be used with this network."
            )
        shape = [len(inputs), inputs.shape[1] if self.channels else inputs[0].numel()]
        turn = (self.turn * MOST_LAYERS + self.place) * MOST_CALLS + self.calls
        self.calls += 1
        draws = uniforms(self.keys, turn, shape[0] // rows * shape[1])
        keep = (draws >= self.p).to(inputs.dtype) / (1 - self.p)
        if self.channels:
            return inputs * keep.view(*shape, *[1] * (inputs.ndim - 2))
        return inputs * keep.view(inputs.shape)


@contextmanager
def drawn_by_sample(network: nn.Module) -> Iterator[list[PerSampleDropout]]:
    """Within it the network's dropout layers are active, and everything else is as it was."""
    found = dropout_layers(network)
    layers = [
        PerSampleDropout(layer.p, place, channels=isinstance(layer, CHANNELWISE))
        for place, layer in enumerate(dict.fromkeys(found.values()))
    ]
    stands_for = dict(zip(dict.fromkeys(found.values()), layers, strict=True))
    try:
        for name, layer in found.items():
            network.set_submodule(name, stands_for[layer])
        yield layers
    finally:
        for name, layer in found.items():
            network.set_submodule(name, layer)


def dropout_layers(network: nn.Module) -> dict[str, nn.Dropout]:
    """The layers that would drop something, by where they are; it is an error if none would."""
    found = {
        name: module
        for name, module in network.named_modules(remove_duplicate=False)
        if isinstance(module, (*ELEMENTWISE, *CHANNELWISE)) and 0 < module.p < 1
    }
    if not found:
        raise BadInput(
            "The network has no dropout to draw from; train it with some, for example "
            "--set method.backbone.dropout=0.3, or predict without MC dropout."
        )
    return found  # type: ignore[return-value]  # the kinds of dropout have no common public class
