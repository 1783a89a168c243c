"""Predictions on the samples of a pool, float32: by one pass in evaluation mode unless said."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Int, Shaped
from torch import Tensor, nn

from mixcal.core.predictions import Kind, Predictions, Split
from mixcal.data.pool import Pool
from mixcal.data.views.view import View
from mixcal.predicting.way import Answer, Way


@dataclass(frozen=True, slots=True)
class SinglePass:
    """One pass, nothing random."""

    name: ClassVar[str] = "single-pass"
    kind: ClassVar[Kind] = "logits"

    def __call__(
        self,
        network: nn.Module,
        raw: Shaped[Tensor, "n ..."],
        seen: Callable[[Tensor], Tensor],
    ) -> Answer:
        answer = network(seen(raw))
        return Answer(answer.logits.float(), answer.features.float())


SINGLE_PASS = SinglePass()


@torch.no_grad()
def predict(
    network: nn.Module,
    pool: Pool,
    index: Int[np.ndarray, " n"],
    *,
    view: View,
    classes: Sequence[str],
    split: Split,
    source: str = "",
    batch: int = 512,
    features: bool = False,
    way: Way = SINGLE_PASS,
) -> Predictions:
    """Predictions for the samples of a pool at these positions; all must be labeled."""
    device = next(network.parameters()).device

    def seen(raw: Tensor) -> Tensor:
        return view(raw, torch.zeros(len(raw), view.columns))

    was_training = network.training
    network.eval()
    answers = []
    try:
        for start in range(0, len(index), batch):
            raw = pool.take(index[start : start + batch]).to(device, non_blocking=True)
            pool.prefetch(index[start + batch : start + 2 * batch])
            answer = way(network, raw, seen)
            hidden = answer.features if features else answer.features[:, :0]
            answers.append(Answer(answer.scores, hidden, answer.members))
    finally:
        network.train(was_training)
    members = [answer.members for answer in answers if answer.members is not None]
    return Predictions(
        scores=torch.cat([answer.scores for answer in answers]).cpu().numpy(),
        kind=way.kind,
        labels=pool.labels[index],
        classes=tuple(classes),
        ids=np.asarray(pool.ids[index]),
        split=split,
        source=source,
        features=torch.cat([a.features for a in answers]).cpu().numpy() if features else None,
        members=torch.cat(members, dim=1).cpu().numpy() if members else None,
        notes={} if way == SINGLE_PASS else {"way": way.name},
    )
