"""From pools to the batch of a step, as a pure function of the step."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from mixcal.core.rows import Batch, Rows, Views
from mixcal.data.draws import SHARDS, shard_bounds, uniforms
from mixcal.data.pool import Images
from mixcal.data.sampling import Stream
from mixcal.data.views.view import View

# Steps between asking a pool for images and taking them: time enough to decode, little to keep.
AHEAD = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One stream of rows: which positions of which pool, in which order, with which labels.

    `members[i]` is the pool position of the split's row i. `soft_targets`, where given, answers
    with the target distributions of rows, in place of one-hot labels.
    """

    name: str
    pool: Images
    members: Int[np.ndarray, " n"]
    labels: Int[np.ndarray, " n"]
    stream: Stream
    view: View
    soft_targets: Callable[[Int[np.ndarray, " b"]], Float[Tensor, "b k"]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loader:
    """Makes batches. A process of several makes only the rows of its own shards."""

    labeled: Part
    weak: Part | None = None
    strong_view: View | None = None
    extra: Mapping[str, Part] = field(default_factory=dict)
    classes: int
    seed: int
    device: torch.device
    shards: range = range(SHARDS)
    # Batches made at once. Views of small images are many small operations, which cost the same
    # for ten times as many rows.
    block: int = 1
    _made: dict[int, Batch] = field(default_factory=dict)

    def batch(self, step: int) -> Batch:
        """The batch of one step, on the device."""
        if step not in self._made:
            self._made.clear()
            steps = range(step, step + self.block)
            self._made.update(zip(steps, self.batches(steps), strict=True))
        return self._made.pop(step)

    def batches(self, steps: range) -> list[Batch]:
        """The batches of several steps: their views are made at once, each is as if made alone."""
        labeled = self._rows(self.labeled, steps)
        unlabeled = self._unlabeled(steps)
        extra = {name: self._rows(part, steps) for name, part in self.extra.items()}
        for step in steps:
            self._announce(step + max(AHEAD, len(steps)))
        return [
            Batch(
                labeled=labeled[place],
                unlabeled=unlabeled[place],
                extra={name: rows[place] for name, rows in extra.items()},
            )
            for place in range(len(steps))
        ]

    def _announce(self, step: int) -> None:
        """Tell the pools what this step will take."""
        for part in (self.labeled, self.weak, *self.extra.values()):
            if part is not None:
                part.pool.prefetch(part.members[self._index(part, step)])

    def _rows(self, part: Part, steps: range) -> list[Rows]:
        """This process's rows of one part, step by step."""
        index = self._indices(part, steps)
        if part.soft_targets is None:
            targets = one_hot(part.labels[index], self.classes)
        else:
            targets = part.soft_targets(index)
        raw = self._moved(part.pool.take(part.members[index]))
        return self._seen(part, part.view, part.name, raw, index, targets, steps)

    def _unlabeled(self, steps: range) -> Sequence[Views | None]:
        if self.weak is None or self.strong_view is None:
            return [None] * len(steps)
        part = self.weak
        index = self._indices(part, steps)
        raw = self._moved(part.pool.take(part.members[index]))
        unknown = torch.zeros(1, self.classes).expand(len(index), -1)
        weak = self._seen(part, part.view, "weak", raw, index, unknown, steps)
        strong = self._seen(part, self.strong_view, "strong", raw, index, unknown, steps)
        hidden = self._moved(torch.from_numpy(part.labels[index])).chunk(len(steps))
        return [
            Views(weak=one, strong=other, hidden_labels=labels)
            for one, other, labels in zip(weak, strong, hidden, strict=True)
        ]

    def _seen(
        self,
        part: Part,
        view: View,
        name: str,
        raw: Shaped[Tensor, "n ..."],
        index: Int[np.ndarray, " n"],
        targets: Float[Tensor, "n k"],
        steps: range,
    ) -> list[Rows]:
        draws = torch.cat([self._draws(part, view, name, step) for step in steps])
        # Every step has equally many rows.
        pieces = (
            side.chunk(len(steps))
            for side in (
                view(raw, draws),
                self._moved(targets),
                self._moved(torch.from_numpy(index)),
            )
        )
        return [
            Rows(inputs=inputs, targets=those, index=positions, part=name)
            for inputs, those, positions in zip(*pieces, strict=True)
        ]

    def _draws(self, part: Part, view: View, name: str, step: int) -> Float[Tensor, "n d"]:
        rows = part.stream.batch
        return uniforms(self.seed, name, step, rows=rows, columns=view.columns, shards=self.shards)

    def _indices(self, part: Part, steps: range) -> Int[np.ndarray, " n"]:
        return np.concatenate([self._index(part, step) for step in steps])

    def _index(self, part: Part, step: int) -> Int[np.ndarray, " b"]:
        index = part.stream.at(step)
        bounds = [shard_bounds(len(index), shard) for shard in self.shards]
        return index[bounds[0][0] : bounds[-1][1]]

    def _moved(self, tensor: Tensor) -> Tensor:
        return tensor.to(self.device, non_blocking=True)


def one_hot(labels: Int[np.ndarray, " n"], classes: int) -> Float[Tensor, "n k"]:
    """Target distributions; a row of zeros where the label is −1."""
    known = torch.from_numpy(np.asarray(labels, dtype=np.int64))
    targets = torch.zeros(len(known), classes)
    return targets.scatter_(1, known.clamp(min=0)[:, None], (known >= 0).float()[:, None])
