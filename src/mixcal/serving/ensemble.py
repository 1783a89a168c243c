"""Several models as one: the mean of their probabilities, for files and arrays alike."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Shaped

from mixcal.core.errors import BadInput
from mixcal.core.predictions import as_logits
from mixcal.judging.rescaling.registry import Rescaler, transformed
from mixcal.serving.predictor import Prediction, Predictor


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Predictors of the same classes; each prepares pictures in its own way.

    `rescaler` was fitted on the means of the members' probabilities, and is applied to them.
    """

    predictors: tuple[Predictor, ...]
    rescaler: Rescaler | None = None

    def __post_init__(self) -> None:
        for other in self.predictors[1:]:
            if other.classes != self.classes:
                raise BadInput(
                    f"The members' classes differ: {', '.join(self.classes[:6])} … and "
                    f"{', '.join(other.classes[:6])} …; an ensemble is made of models of the same "
                    "classes in the same order."
                )

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of every member."""
        return self.predictors[0].classes

    def __call__(self, images: Shaped[np.ndarray, "n h w *c"]) -> Float[np.ndarray, "n k"]:
        """Probabilities for images as arrays."""
        return self.pooled(np.stack([predictor(images) for predictor in self.predictors]))

    def pooled(self, members: Float[np.ndarray, "m n k"]) -> Float[np.ndarray, "n k"]:
        """The mean of the members' probabilities, rescaled."""
        mean = members.mean(0, dtype=np.float64).astype(np.float32)
        if self.rescaler is None:
            return mean
        none = np.empty((len(mean), 0), np.float32)
        return transformed(self.rescaler, as_logits(mean, "probs"), features=none)

    def files(self, paths: Sequence[Path], *, workers: int = 4) -> Iterator[Prediction]:
        """Answers for picture files, in their order; each member reads them by itself."""
        every = [predictor.files(paths, workers=workers) for predictor in self.predictors]
        for answers in zip(*every, strict=True):
            known = [answer.probs for answer in answers if answer.probs is not None]
            if len(known) < len(answers):
                why = next(answer.error for answer in answers if answer.error)
                yield Prediction(answers[0].path, None, why)
                continue
            members = np.stack(known)
            yield Prediction(answers[0].path, self.pooled(members[:, None])[0], members=members)
