"""Test-time augmentation before rescaling (Hekler, Brinker and Buettner, AAAI 2023, "Test Time
Augmentation Meets Post-hoc Calibration"; operations as in fastai's defaults).

    z = (z(x) + Σ_t z(a_t(x))) / (T + 1),    p = rescaler(z)

The rescaler is one fitted on logits without augmentation. Averaging probabilities instead is the
option `average = "probs"`. Differs from the paper's codes: what is drawn belongs to the sample,
so a prediction does not depend on what else is in the batch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from mixcal.core.errors import BadInput
from mixcal.core.predictions import Kind
from mixcal.data.views.lens import Lens
from mixcal.predicting.per_sample import keys_of, uniforms
from mixcal.predicting.way import Answer

AUGMENTATIONS = 4
Average = Literal["logits", "probs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TestTime:
    """The mean over a picture and some augmentations of it."""

    # Test runners take it for a test otherwise.
    __test__ = False

    augmentations: int = AUGMENTATIONS
    average: Average = "logits"
    lens: Lens
    seed: int = 0

    def __post_init__(self) -> None:
        if self.augmentations < 0:
            raise BadInput(
                f"{self.augmentations} augmentations were asked for; give 0 or more of them."
            )

    @property
    def name(self) -> str:
        ending = "" if self.average == "logits" else f"-{self.average}"
        return f"test-time-{self.augmentations}{ending}"

    @property
    def kind(self) -> Kind:
        return self.average

    @torch.no_grad()
    def __call__(
        self,
        network: nn.Module,
        raw: Shaped[Tensor, "n ..."],
        seen: Callable[[Tensor], Tensor],
    ) -> Answer:
        if raw.ndim != 4:
            raise BadInput("Test-time augmentation changes pictures; these are none.")
        keys = keys_of(raw, self.seed, "test-time")
        plain = network(seen(raw))
        logits = [plain.logits.float()]
        for turn in range(self.augmentations):
            changed = self.lens(raw, uniforms(keys, turn, self.lens.columns))
            logits.append(network(seen(changed)).logits.float())
        return Answer(averaged(torch.stack(logits), self.average), plain.features.float())


def averaged(logits: Float[Tensor, "m n k"], average: Average) -> Float[Tensor, "n k"]:
    """The mean of logits, or of the probabilities they stand for."""
    wide = logits.double()
    return (wide if average == "logits" else wide.softmax(2)).mean(0).float()
