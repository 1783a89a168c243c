"""Which samples a step sees: a pure function of (seed, step), so there is no state to resume."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int

from mixcal.core.seeds import derive


@runtime_checkable
class Stream(Protocol):
    """Positions of each step's rows, `batch` of them."""

    @property
    def batch(self) -> int: ...

    def at(self, step: int) -> Int[np.ndarray, " b"]: ...


@dataclass(slots=True)
class IndexStream:
    """Positions 0 … size − 1, `batch` of them a step.

    "passes": one permutation after another, none dropped, a batch may straddle two;
    "epochs": each epoch of size // batch steps has a permutation of its own, the rest is dropped;
    "balanced": a class uniformly, then one of its samples uniformly, with replacement.
    """

    size: int
    batch: int
    seed: int
    name: str
    order: str = "passes"
    labels: Int[np.ndarray, " n"] | None = None
    _kept: dict[int, np.ndarray] = field(default_factory=dict)

    def at(self, step: int) -> Int[np.ndarray, " b"]:
        """The positions of one step's batch."""
        if self.order == "balanced":
            return self._balanced(step)
        if self.order == "epochs" and self.size >= self.batch:
            steps = self.size // self.batch
            start = (step % steps) * self.batch
            return self._permutation(step // steps)[start : start + self.batch]
        positions = np.arange(step * self.batch, (step + 1) * self.batch)
        turns, places = np.divmod(positions, self.size)
        found = np.empty(self.batch, dtype=np.int64)
        for turn in np.unique(turns):
            here = turns == turn
            found[here] = self._permutation(int(turn))[places[here]]
        return found

    def _permutation(self, turn: int) -> Int[np.ndarray, " n"]:
        if turn not in self._kept:
            generator = np.random.default_rng(derive(self.seed, "order", self.name, turn))
            # Two turns at most: a batch may straddle the last and the next.
            self._kept = {turn - 1: self._kept[turn - 1]} if turn - 1 in self._kept else {}
            self._kept[turn] = generator.permutation(self.size)
        return self._kept[turn]

    def _balanced(self, step: int) -> Int[np.ndarray, " b"]:
        assert self.labels is not None, "balanced sampling needs labels"
        generator = np.random.default_rng(derive(self.seed, "balanced", self.name, step))
        present = np.unique(self.labels)
        chosen = present[generator.integers(len(present), size=self.batch)]
        fate = generator.random(self.batch)
        found = np.empty(self.batch, dtype=np.int64)
        for label in np.unique(chosen):
            members = np.flatnonzero(self.labels == label)
            here = chosen == label
            found[here] = members[(fate[here] * len(members)).astype(np.int64)]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowingStream:
    """Positions drawn to go with the labels of another stream's rows of the same step.

    `draw` gives `copies` positions a label; the copies of one label follow one another.
    """

    leader: Stream
    labels: Int[np.ndarray, " n"]
    draw: Callable[[Int[np.ndarray, " _"], np.random.Generator], Int[np.ndarray, " _"]]
    copies: int
    seed: int
    name: str

    @property
    def batch(self) -> int:
        """Rows a step."""
        return self.leader.batch * self.copies

    def at(self, step: int) -> Int[np.ndarray, " b"]:
        """The positions of one step's batch."""
        generator = np.random.default_rng(derive(self.seed, "following", self.name, step))
        return self.draw(self.labels[self.leader.at(step)], generator)
