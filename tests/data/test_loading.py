"""The loader asks pools for the images that it takes two steps later."""

from dataclasses import dataclass, field

import numpy as np
import torch

from mixcal.data.loading import AHEAD, Loader, Part
from mixcal.data.options import ViewOptions
from mixcal.data.pool import MemoryPool
from mixcal.data.preprocessing import Preprocessing
from mixcal.data.sampling import IndexStream
from mixcal.data.views.view import TokenView, View, image_views


@dataclass
class Listening:
    """A pool that writes down what it is asked."""

    pool: MemoryPool
    asked: list[list[int]] = field(default_factory=list)
    taken: list[list[int]] = field(default_factory=list)

    @property
    def labels(self):
        return self.pool.labels

    @property
    def ids(self):
        return self.pool.ids

    def __len__(self) -> int:
        return len(self.pool)

    def take(self, index) -> torch.Tensor:
        self.taken.append(index.tolist())
        return self.pool.take(index)

    def prefetch(self, index) -> None:
        self.asked.append(index.tolist())


def part(name: str, pool: Listening, members: np.ndarray, batch: int) -> Part:
    return Part(
        name=name,
        pool=pool,
        members=members,
        labels=pool.labels[members],
        stream=IndexStream(len(members), batch, 3, name),
        view=TokenView(),
    )


def test_every_pool_hears_two_steps_ahead_what_is_taken() -> None:
    tokens = torch.arange(40).view(20, 2)
    pools = [Listening(MemoryPool(tokens, np.arange(20) % 2, np.arange(20))) for _ in range(3)]
    members = np.arange(5, 20)
    loader = Loader(
        labeled=part("labeled", pools[0], members, 8),
        weak=part("weak", pools[1], members, 16),
        strong_view=TokenView(),
        extra={"partner": part("partner", pools[2], members, 8)},
        classes=2,
        seed=3,
        device=torch.device("cpu"),
    )
    for step in range(6):
        loader.batch(step)
    for pool in pools:
        assert len(pool.asked) == 6
        assert pool.asked[:-AHEAD] == pool.taken[AHEAD:]


def image_loader(block: int) -> Loader:
    generator = np.random.default_rng(0)
    pictures = torch.from_numpy(generator.integers(0, 256, (30, 3, 12, 12), dtype=np.uint8))
    pool = MemoryPool(pictures, np.arange(30) % 3, np.arange(30))
    options = ViewOptions(padding_fraction=0.125, strong="usb")
    preprocessing = Preprocessing(size=(12, 12), stored=(12, 12), mean=(0.5,) * 3, std=(0.2,) * 3)
    views = image_views(options, preprocessing, flips=True)
    members = np.arange(30)

    def seen(name: str, batch: int, view: View) -> Part:
        stream = IndexStream(30, batch, 3, name)
        return Part(
            name=name, pool=pool, members=members, labels=pool.labels, stream=stream, view=view
        )

    return Loader(
        labeled=seen("labeled", 8, views.labeled),
        weak=seen("weak", 16, views.weak),
        strong_view=views.strong,
        extra={"partner": seen("partner", 8, views.labeled)},
        classes=3,
        seed=3,
        device=torch.device("cpu"),
        block=block,
    )


def test_batches_made_in_blocks_are_those_made_alone() -> None:
    alone, blocks = image_loader(1), image_loader(5)
    # 7 and 3: a run may be resumed anywhere, and step back.
    for step in (*range(12), 7, 8, 3):
        one, other = alone.batch(step), blocks.batch(step)
        for mine, theirs in (
            (one.labeled, other.labeled),
            (one.unlabeled.weak, other.unlabeled.weak),
            (one.unlabeled.strong, other.unlabeled.strong),
            (one.extra["partner"], other.extra["partner"]),
        ):
            assert mine.part == theirs.part
            assert torch.equal(mine.inputs, theirs.inputs)
            assert torch.equal(mine.targets, theirs.targets)
            assert torch.equal(mine.index, theirs.index)
        assert torch.equal(one.unlabeled.hidden_labels, other.unlabeled.hidden_labels)


def test_blocks_are_announced_before_they_are_taken() -> None:
    pool = Listening(MemoryPool(torch.arange(40).view(20, 2), np.arange(20) % 2, np.arange(20)))
    loader = Loader(
        labeled=part("labeled", pool, np.arange(20), 4),
        classes=2,
        seed=3,
        device=torch.device("cpu"),
        block=3,
    )
    for step in range(12):
        loader.batch(step)
    announced = np.reshape(pool.asked, (-1, 3 * 4))
    assert announced[:-1].tolist() == pool.taken[1:]
