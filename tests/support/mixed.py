"""Small generators, stores and soft-labeled files for tests of mixed images."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from mixcal.data.mixed_store import MixedStore
from mixcal.synthesis.denoiser import Denoiser
from mixcal.synthesis.model import Description, Generator
from mixcal.synthesis.options import NetworkOptions
from tests.support.toy import CLASSES, SIZE

HEADER = {"generator": "g0", "sampler_steps": 20, "guidance": 0.0, "splits": "s0"}
RECORD = {"encoder": "tiny", "prototypes": "p0", "splits": "s0", "rule": "projected", "scale": 4.0}


class TinyNetwork(nn.Module):
    """A raw network of one convolution and an embedding of the classes."""

    def __init__(self, classes: int, channels: int) -> None:
        super().__init__()
        self.inner = nn.Conv2d(channels, 8, 3, padding=1)
        self.label = nn.Linear(classes, 8)
        self.outer = nn.Conv2d(8, channels, 3, padding=1)

    def forward(self, inputs: Tensor, noise: Tensor, targets: Tensor) -> Tensor:
        hidden = self.inner(inputs) + (self.label(targets) * noise[:, None])[..., None, None]
        return self.outer(torch.tanh(hidden))


def tiny_generator(
    classes: int = 4, *, channels: int = 1, guidable: bool = False, size: int = 6
) -> Generator:
    """A generator that nobody trained; its weights are always the same."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = TinyNetwork(classes, channels).eval().requires_grad_(False)
    return Generator(
        denoiser=Denoiser(network, autocast=torch.bfloat16),
        description=Description(
            classes=tuple("abcdefgh"[:classes]),
            shape=(size, size, channels),
            network=NetworkOptions(),
            precision="bf16",
            guidable=guidable,
            splits="s0",
            data={},
            seed=0,
        ),
        fingerprint="tiny",
        images_seen=0,
    )


def noise_store(
    path: Path,
    *,
    classes: tuple[str, ...] = ("a", "b", "c", "d"),
    shape: tuple[int, int, int] = (SIZE, SIZE, 1),
    sets: int = 12,
    pairs: list[tuple[int, int]] | None = None,
    annotated: bool = True,
    shares: bool = False,
) -> MixedStore:
    """A finished store of noise: all pairs in turn, λ rising but for one step."""
    every = pairs or [(i, j) for i in range(len(classes)) for j in range(i + 1, len(classes))]
    header = {**HEADER, "classes": list(classes)}
    store = MixedStore.create(path, header, sets=sets, shape=shape)
    generator = np.random.default_rng(0)
    chosen = [every[index % len(every)] for index in range(sets)]
    images = generator.integers(0, 256, (sets, 8, *shape), dtype=np.uint8)
    store.write_sets(range(sets), images, range(sets), chosen)
    if not annotated:
        return MixedStore.open(path)
    along = np.linspace(0.1, 1.1, 8, dtype=np.float32)
    # The last but one is further along than the last: an end need not be λ̂ = 1.
    along[[6, 7]] = along[[7, 6]]
    projections = np.tile(along, (sets, 1)) + generator.normal(0, 0.01, (sets, 1))
    weights = 1 / (1 + np.exp(-4 * (projections - 0.5)))
    targets = generator.dirichlet(np.ones(len(classes)), (sets, 8)) if shares else None
    return store.annotate(projections, weights, RECORD, targets=targets)


def blank_store(path: Path, classes: tuple[str, ...], shape: tuple[int, ...]) -> str:
    """An annotated store of black images, which take no room; every class is in a pair."""
    count = len(classes)
    pairs = [(first, first + 1) for first in range(0, count - 1, 2)] + [(0, count - 1)]
    header = {**HEADER, "classes": list(classes)}
    made = MixedStore.create(path, header, sets=len(pairs), shape=shape)
    np.load(path / "pairs.npy", mmap_mode="r+")[:] = pairs
    made.done[:] = True
    made.done.flush()
    along = np.tile(made.positions, (len(pairs), 1))
    made.annotate(along, along, RECORD, targets=np.full((len(pairs), 8, count), 1 / count))
    return str(path)


def soft_file(path: Path, *, classes: int = CLASSES, count: int = 40) -> Path:
    """An .npz of images with distributions over two classes each."""
    generator = np.random.default_rng(1)
    targets = np.zeros((count, classes), dtype=np.float32)
    rows = np.arange(count)
    share = generator.random(count).astype(np.float32)
    targets[rows, rows % classes] = share
    targets[rows, (rows + 1) % classes] = 1 - share
    images = generator.integers(0, 256, (count, SIZE, SIZE), dtype=np.uint8)
    np.savez(path, images=images, targets=targets)
    return path


@cache
def toy_store() -> str:
    """A store that fits the toy facts, made once."""
    folder = Path(tempfile.mkdtemp(prefix="mixcal-toy-"))
    noise_store(folder / "store")
    return str(folder / "store")
